// Against the examples that AWS publishes ("Authenticating Requests: Using the Authorization Header").
#include "files/s3_signature.h"

#include <gtest/gtest.h>

namespace sluice::files {
namespace s3_signature_test {

constexpr std::string_view nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view at = "20130524T000000Z";

S3Request a_request(std::string_view method, std::string path, std::string query = "",
                    std::string_view payload = nothing) {
  return {.method = method,
          .path = std::move(path),
          .query = std::move(query),
          .headers = {{"host", "examplebucket.s3.amazonaws.com"},
                      {"x-amz-content-sha256", std::string(payload)},
                      {"x-amz-date", std::string(at)}},
          .payload_sha256 = std::string(payload)};
}

std::string signature_of(const S3Request& request) {
  const S3Credentials credentials{"us-east-1", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const auto header = s3_authorization(request, credentials, at);
  return header.substr(header.find("Signature=") + 10);
}

TEST(S3Signature, Reads_part_of_an_object) {
  auto request = a_request("GET", "/test.txt");
  request.headers["range"] = "bytes=0-9";
  EXPECT_EQ(signature_of(request), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3Signature, Writes_an_object_with_a_name_that_must_be_encoded) {
  EXPECT_EQ(s3_path("/test$file.text"), "/test%24file.text");
  auto request = a_request("PUT", s3_path("/test$file.text"), "",
                           "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  request.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  request.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  EXPECT_EQ(signature_of(request), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(S3Signature, Asks_with_a_query) {
  EXPECT_EQ(signature_of(a_request("GET", "/", "lifecycle=")),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature_of(a_request("GET", "/", "max-keys=2&prefix=J")),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3Signature, The_header_names_the_key_the_scope_and_what_is_signed) {
  const auto header = s3_authorization(a_request("GET", "/x"), {"eu-1", "KEY", "SECRET"}, at);
  EXPECT_TRUE(
      header.starts_with("AWS4-HMAC-SHA256 Credential=KEY/20130524/eu-1/s3/aws4_request,"
                         "SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature="));
  EXPECT_EQ(header.find("SECRET"), std::string::npos);
}

}  // namespace s3_signature_test
}  // namespace sluice::files
