#include <algorithm>

#include "base/bytes.h"
#include "base/digest.h"
#include "mcp/mcp.h"

namespace sluice::mcp {
namespace {

constexpr std::size_t name_chars_max = 64;
constexpr std::size_t digest_bytes = 4;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool may_stand(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

}  // namespace

std::string joined_name(std::string_view server, std::string_view tool) {
  std::string name = std::string(server) + "__" + std::string(tool);
  if (!is_letter(name[0])) name.insert(0, "mcp_");
  std::ranges::replace_if(name, [](char c) { return !may_stand(c); }, '_');
  if (name.size() <= name_chars_max) return name;
  const auto digest = to_hex(sha256(std::string(server) + "\n" + std::string(tool)).substr(0, digest_bytes));
  name.resize(name_chars_max - digest.size() - 1);
  return name + "_" + digest;
}

}  // namespace sluice::mcp
