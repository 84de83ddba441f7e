// `sluice version`: the version of the program and of the libraries that it is linked with.
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

#include "base/json.h"
#include "ops/commands.h"

namespace sluice::ops {
namespace {

// A library that this program is linked with. Operators compare the version with security advisories.
struct Library {
  std::string_view name;  // as Debian names its file: "libssl"
  std::string version;
};

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

// In the order of their names.
std::vector<Library> libraries() {
  const std::string openssl = OpenSSL_version(OPENSSL_VERSION_STRING);
  return {{"libarchive", archive_version()},
          {"libcrypto", openssl},
          {"libcurl", curl_version_info(CURLVERSION_NOW)->version},
          {"libgit2", git_version()},
          {"libnghttp2", nghttp2_version(0)->version_str},
          {"libpq", postgres_version()},
          {"libseccomp", seccomp_version_text()},
          {"libsimdjson", dotted(simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
                                 simdjson::SIMDJSON_VERSION_REVISION)},  // not available at run time: the version that
                                                                         // this program was built with
          {"libsqlite3", sqlite3_libversion()},
          {"libssl", openssl},
          {"libzstd", ZSTD_versionString()}};
}

}  // namespace

std::string version_text(std::string_view version, Form form, bool verbose) {
  std::string text;
  if (form == Form::json) {
    json::Writer writer(text);
    writer.begin_object().key("version").string(version).key("libraries").begin_object();
    for (const auto& library : libraries()) writer.key(library.name).string(library.version);
    writer.end_object().end_object();
    return text + "\n";
  }
  text = "sluice " + std::string(version) + "\n";
  if (!verbose) return text;
  for (const auto& library : libraries()) text += std::string(library.name) + " " + library.version + "\n";
  return text;
}

}  // namespace sluice::ops
