#include "app/libraries.h"

#include <archive.h>
#include <curl/curl.h>
#include <git2/common.h>
#include <libpq-fe.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <seccomp.h>
#include <simdjson.h>
#include <sqlite3.h>
#include <zstd.h>

namespace sluice::app {
namespace {

std::string dotted(int major, int minor, int revision) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
}

std::string git_version() {
  int major = 0;
  int minor = 0;
  int revision = 0;
  git_libgit2_version(&major, &minor, &revision);
  return dotted(major, minor, revision);
}

std::string archive_version() {
  constexpr int million = 1'000'000;
  constexpr int thousand = 1'000;
  const int number = archive_version_number();
  return dotted(number / million, number / thousand % thousand, number % thousand);
}

std::string postgres_version() {
  constexpr int major_unit = 10'000;
  const int number = PQlibVersion();
  return std::to_string(number / major_unit) + "." + std::to_string(number % major_unit);
}

std::string seccomp_version_text() {
  const auto* const version = seccomp_version();
  return dotted(static_cast<int>(version->major), static_cast<int>(version->minor), static_cast<int>(version->micro));
}

}  // namespace

std::vector<Library> libraries() {
  const std::string openssl = OpenSSL_version(OPENSSL_VERSION_STRING);
  return {{"libarchive", archive_version()},
          {"libcrypto", openssl},
          {"libcurl", curl_version_info(CURLVERSION_NOW)->version},
          {"libgit2", git_version()},
          {"libnghttp2", nghttp2_version(0)->version_str},
          {"libpq", postgres_version()},
          {"libseccomp", seccomp_version_text()},
          {"libsimdjson",
           dotted(simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
                  simdjson::SIMDJSON_VERSION_REVISION)},  // it does not say at run time: the one it was built with
          {"libsqlite3", sqlite3_libversion()},
          {"libssl", openssl},
          {"libzstd", ZSTD_versionString()}};
}

}  // namespace sluice::app
