// The one JSON spelling of each word. Nothing else in the house writes these objects, which is why
// the message in `message_end` is byte for byte the message in a list (I-9).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "model/gates.h"
#include "model/kit.h"
#include "model/objects.h"
#include "model/records.h"

namespace sluice::model {

void append_json(std::string& out, const Tenant& tenant);
void append_json(std::string& out, const ServiceKey& key);   // without anything secret
void append_json(std::string& out, const ApproverKey& key);  // without anything secret
void append_json(std::string& out, const Agent& agent);
void append_json(std::string& out, const Conversation& conversation);
void append_json(std::string& out, const Message& message);
void append_json(std::string& out, const Run& run);
void append_json(std::string& out, const Repository& repository);
void append_json(std::string& out, const Skill& skill);
void append_json(std::string& out, const Environment& environment);
void append_json(std::string& out, const RunFile& file);
void append_json(std::string& out, const BagFile& file);  // as under /api/workspaces
void append_json(std::string& out, const Approval& approval);
void append_json(std::string& out, const SealedSecret& secret);  // its alias and bindings
void append_json(std::string& out, const AuditEntry& entry);

template <typename Record>
std::string to_json(const Record& record) {
  std::string out;
  append_json(out, record);
  return out;
}

// As the Assistant shows it: epoch milliseconds and camelCase, and where its bytes are.
void append_chat_file(json::Writer& writer, const BagFile& file);

// Reads back what append_json(Message) wrote; `corrupt` for anything else.
Result<Message> message_from_json(std::string_view text);

void append_items(json::Writer& writer, const std::vector<RequestedItem>& items);
std::vector<RequestedItem> items_from_json(json::Value value);
void append_policy(json::Writer& writer, const Policy& policy);
// Of what append_policy() wrote; what else there is in it is left out, and an unknown effect denies.
Policy policy_from_json(json::Value value);
void append_runtime(json::Writer& writer, const Runtime& runtime, const SandboxNow& now);

// The members that an agent has of it. What kit_from_json() does not find is as in a new one.
void append_kit_members(json::Writer& writer, const AgentKit& kit);
AgentKit kit_from_json(json::Value value);
// The members that an `accepted` event has of it; none for one that is empty.
void append_extras_members(json::Writer& writer, const RunExtras& extras);
RunExtras extras_from_json(json::Value value);
std::string to_json(const GateAnswers& answers);
GateAnswers answers_from_json(json::Value value);

// Cuts the text told so far to what a `replaced` event keeps of it, at a character's border. False, and nothing is cut,
// when its body makes no sense.
bool take_back(std::string& told, std::string_view replaced_body);

void append_metadata(json::Writer& writer, const Metadata& metadata);
Metadata metadata_from_json(json::Value value);

}  // namespace sluice::model
