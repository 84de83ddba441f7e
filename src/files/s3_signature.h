// AWS Signature Version 4: proof that the sender of a request has the secret key, valid for one request and one day.
// Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sluice::files {

struct S3Credentials {
  std::string region;
  std::string access_key;
  std::string secret_key;
};

struct S3Request {
  std::string_view method;
  std::string path;                            // as it is sent: percent-encoded once, "/bucket/key"
  std::string query;                           // the same, sorted; "" or "a=1&b="
  std::map<std::string, std::string> headers;  // lower-case names, all that are signed; host and x-amz-date among them
  std::string payload_sha256;                  // 64 hexadecimal digits
};

// Everything but letters, digits, "-._~" and "/".
std::string s3_path(std::string_view text);

// The value of the Authorization header. `at` is the request's x-amz-date: "20130524T000000Z".
std::string s3_authorization(const S3Request& request, const S3Credentials& credentials, std::string_view at);

}  // namespace sluice::files
