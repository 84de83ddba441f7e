#include "files/s3_signature.h"

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::files {

std::string s3_path(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string s3_authorization(const S3Request& request, const S3Credentials& credentials, std::string_view at) {
  std::string names;
  std::string canonical = std::string(request.method) + "\n" + request.path + "\n" + request.query + "\n";
  for (const auto& [name, value] : request.headers) {
    canonical += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  canonical += "\n" + names + "\n" + request.payload_sha256;

  const std::string day(at.substr(0, 8));
  const std::string scope = day + "/" + credentials.region + "/s3/aws4_request";
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + std::string(at) + "\n" + scope + "\n" + to_hex(sha256(canonical));
  std::string key = "AWS4" + credentials.secret_key;
  for (const std::string_view step : {std::string_view(day), std::string_view(credentials.region),
                                      std::string_view("s3"), std::string_view("aws4_request")}) {
    key = hmac_sha256(key, step);
  }
  return "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + "/" + scope + ",SignedHeaders=" + names +
         ",Signature=" + to_hex(hmac_sha256(key, to_sign));
}

}  // namespace sluice::files
