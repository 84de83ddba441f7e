#include "api/console/session.h"

#include <strings.h>
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::api::console {
namespace {

constexpr std::string_view cookie_purpose = "cookie\n";
constexpr std::string_view csrf_purpose = "csrf\n";
constexpr std::size_t mac_bytes = 32;
constexpr std::size_t cookie_chars_max = 256;

// The first byte says who, and how the rest reads.
constexpr char admin_word = 'a';
constexpr char acting_admin_word = 't';
constexpr char service_word = 's';

constexpr std::size_t head_bytes = 1 + sizeof(Ulid) + 8;

std::string_view bytes_of(const Ulid& ulid) {
  return {reinterpret_cast<const char*>(ulid.bytes.data()), ulid.bytes.size()};
}

Ulid ulid_of(std::string_view bytes) {
  Ulid ulid;
  std::memcpy(ulid.bytes.data(), bytes.data(), ulid.bytes.size());
  return ulid;
}

void append_number(std::string& out, uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> static_cast<unsigned>(shift));
}

uint64_t number_of(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8u | static_cast<uint8_t>(byte);
  return number;
}

std::string packed(const Session& session) {
  std::string tail;
  char word = service_word;
  if (const auto* admin = std::get_if<AdminSession>(&session.of)) {
    word = admin->tenant ? acting_admin_word : admin_word;
    if (admin->tenant) tail = bytes_of(admin->tenant->ulid);
  } else {
    tail = std::get<ServiceSession>(session.of).key_sha256;
  }
  std::string out(1, word);
  out += bytes_of(session.id);
  append_number(out, static_cast<uint64_t>(session.expires_at.ms));
  return out + tail;
}

std::optional<Session> unpacked(std::string_view bytes) {
  if (bytes.size() < head_bytes) return std::nullopt;
  Session session{.id = ulid_of(bytes.substr(1))};
  session.expires_at.ms = static_cast<int64_t>(number_of(bytes.substr(1 + sizeof(Ulid), 8)));
  const auto tail = bytes.substr(head_bytes);
  switch (bytes[0]) {
    case admin_word:
      if (!tail.empty()) return std::nullopt;
      return session;
    case acting_admin_word:
      if (tail.size() != sizeof(Ulid)) return std::nullopt;
      session.of = AdminSession{model::TenantId{ulid_of(tail)}};
      return session;
    case service_word:
      if (tail.size() != mac_bytes) return std::nullopt;
      session.of = ServiceSession{std::string(tail)};
      return session;
    default: return std::nullopt;
  }
}

}  // namespace

std::string SessionSeal::cookie_of(const Session& session) const {
  const auto bytes = packed(session);
  return to_base64url(bytes + hmac_sha256(root_, std::string(cookie_purpose) + bytes));
}

std::optional<Session> SessionSeal::open(std::string_view cookie, Timestamp now) const {
  if (cookie.size() > cookie_chars_max) return std::nullopt;
  const auto bytes = from_base64url(cookie);
  if (!bytes || bytes->size() < mac_bytes) return std::nullopt;
  const auto said = std::string_view(*bytes).substr(0, bytes->size() - mac_bytes);
  const auto mac = std::string_view(*bytes).substr(said.size());
  if (!equal_in_constant_time(mac, hmac_sha256(root_, std::string(cookie_purpose).append(said)))) return std::nullopt;
  auto session = unpacked(said);
  if (!session || session->expires_at <= now) return std::nullopt;
  return session;
}

std::string SessionSeal::csrf_token(const Session& session) const {
  return to_base64url(hmac_sha256(root_, std::string(csrf_purpose).append(bytes_of(session.id))));
}

std::string cookie_name(std::string_view public_base_url) {
  const bool over_tls = public_base_url.starts_with("https://");
  const auto host = public_base_url.find("://");
  auto authority = host == std::string_view::npos ? std::string_view() : public_base_url.substr(host + 3);
  authority = authority.substr(0, authority.find('/'));
  const auto colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  return std::string(over_tls ? "__Host-" : "")
      .append("sluice_session_")
      .append(has_port   ? authority.substr(colon + 1)
              : over_tls ? "443"
                         : "80");
}

std::optional<std::string_view> find_cookie(const net::Headers& headers, std::string_view name) {
  std::optional<std::string_view> found;
  for (const auto& header : headers.all()) {
    if (strcasecmp(header.name.c_str(), "cookie") != 0) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      auto pair = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      while (pair.starts_with(' ')) pair.remove_prefix(1);
      if (!pair.starts_with(name) || pair.substr(name.size(), 1) != "=") continue;
      if (found) return std::nullopt;
      found = pair.substr(name.size() + 1);
    }
  }
  return found;
}

std::string LoginCodes::make() {
  std::string bytes(16, '\0');
  entropy_.fill({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  auto code = to_base64url(bytes);
  if (kept_.size() == count_max) kept_.pop_front();
  kept_.push_back({sha256(code), loop_.monotonic_us() + good_us});
  return code;
}

bool LoginCodes::spend(std::string_view code) {
  const auto now_us = loop_.monotonic_us();
  std::erase_if(kept_, [&](const Kept& kept) { return kept.until_us <= now_us; });
  const auto digest = sha256(code);
  return std::erase_if(kept_, [&](const Kept& kept) { return equal_in_constant_time(kept.sha256, digest); }) > 0;
}

}  // namespace sluice::api::console
