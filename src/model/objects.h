// What an agent is given to work with, what it hands back, and the tokens of a dispatch. Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sluice::model {

// A git repository that a run can work in (I-25).
struct Repository {
  RepositoryId id;
  TenantId tenant_id;
  std::string name;
  std::string url;
  std::string ref;                              // branch, tag or commit; empty: the remote's default
  int64_t depth = 1;                            // 0: the whole history
  std::optional<std::string> credential_alias;  // the name of a credential, never the credential
  Timestamp created_at;
  Timestamp updated_at;
};

// A bundle of files with a SKILL.md: something an agent can learn to do.
struct Skill {
  SkillId id;
  TenantId tenant_id;
  std::string name;         // unique within the tenant
  std::string description;  // from SKILL.md
  std::string sha256;       // of the bundle, 64 hexadecimal digits: its version
  int64_t size_bytes = 0;   // of the bundle
  int64_t file_count = 0;
  Timestamp created_at;
  Timestamp updated_at;
};

// A named environment: variables, and a script that runs before the first model call.
struct Environment {
  EnvironmentId id;
  TenantId tenant_id;
  std::string name;  // unique within the tenant
  std::map<std::string, std::string> variables;
  std::string script;  // empty: none
  Timestamp created_at;
  Timestamp updated_at;
};

// A file that a run handed back (S-12). Its bytes are kept by their digest.
struct RunFile {
  FileId id;
  TenantId tenant_id;
  std::optional<RunId> run_id;              // the run, or
  std::optional<ExecutionId> execution_id;  // the execution that made it
  std::string name;
  int64_t size_bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
  Timestamp created_at;
};

enum class FileSource : uint8_t { upload, sandbox };

// A file in the bag of a chat, or of the workspace until a turn takes it along. One that a chat's run handed back
// is a RunFile of the same id as well.
struct BagFile {
  FileId id;
  TenantId tenant_id;
  std::optional<ConversationId> chat_id;
  std::optional<RunId> run_id;  // that made it
  std::string name;             // one plain name, without directories
  std::string type;             // its media type, as media_type_of() has it
  int64_t size_bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
  FileSource source = FileSource::upload;
  Timestamp created_at;
  std::optional<Timestamp> deleted_at;
};

// One dispatch to a runner that calls back with one-time tokens (S-3): what it will be told.
struct Execution {
  ExecutionId id;
  TenantId tenant_id;
  std::optional<RunId> run_id;
  std::string env_json;            // the answer to GET …/env
  std::string config_json;         // the answer to GET …/config, but for its `callback.token`
  std::vector<SkillId> skill_ids;  // which bundles it may fetch
  Timestamp created_at;
  Timestamp expires_at;  // of its asbx_ bearer
};

enum class TokenPurpose : uint8_t { setup, run, upload };

// Hashed; good once, for one execution and one purpose.
struct OneTimeToken {
  std::string sha256;  // 32 raw bytes
  TokenPurpose purpose = TokenPurpose::setup;
  Timestamp expires_at;
};

std::string_view name_of(TokenPurpose purpose);  // "setup", "run", "upload"
std::string_view name_of(FileSource source);
std::optional<FileSource> file_source_named(std::string_view name);

// By the extension, never by what somebody says of it; "application/octet-stream" where that tells nothing.
std::string_view media_type_of(std::string_view file_name);

}  // namespace sluice::model
