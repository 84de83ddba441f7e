// What leads from a server of MCP to the endpoint that issues tokens for it: the challenge of its refusal (RFC 9728,
// section 5.1), the metadata of the resource (RFC 9728) and those of its authorization server (RFC 8414, or OpenID's).
// Pure: others fetch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/net.h"

namespace sluice::tools {

// Of a 401; members that it does not name are empty.
struct McpChallenge {
  std::string resource_metadata;
  std::string scope;
};
McpChallenge challenge_of(const net::Headers& answer);

// Where the metadata of the resource at `url` may be: below its path, then at the root.
std::vector<std::string> resource_metadata_urls(std::string_view url);
// Where those of an issuer may be.
std::vector<std::string> issuer_metadata_urls(std::string_view issuer);

struct McpResource {
  std::string resource;
  std::string issuer;  // the first of its authorization servers
};
// `invalid` in words. A resource that is not `url`, or its beginning, would have tokens issued for somebody else.
Result<McpResource> read_resource_metadata(std::string_view json, std::string_view url);

enum class ClientProof : uint8_t { basic, post };

struct McpIssuer {
  std::string token_url;
  ClientProof proof = ClientProof::basic;
};
// `invalid` in words. Metadata that name another issuer were put there by somebody else (RFC 8414, section 3.3).
Result<McpIssuer> read_issuer_metadata(std::string_view json, std::string_view issuer);

struct McpGrant {
  std::string token;
  int64_t expires_in_seconds = 0;  // 0: not known
};
Result<McpGrant> read_grant(std::string_view json);

// "invalid_client: No such client." of an endpoint's refusal (RFC 6749, section 5.2); otherwise how the body begins.
std::string refusal_words(int status, std::string_view body);

// application/x-www-form-urlencoded
std::string form_encoded(std::string_view value);

}  // namespace sluice::tools
