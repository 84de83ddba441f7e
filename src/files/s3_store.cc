// Contents in an object store that speaks S3. An object's name is its digest, so that writing it twice, or again after
// a lost answer, does no harm.
#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/bytes.h"
#include "base/digest.h"
#include "files/mapped_file.h"
#include "files/s3_signature.h"

namespace sluice::files {
namespace {

constexpr std::size_t complaint_bytes_max = 4096;

// Where an answer goes: a good one into a file, a bad one into words.
struct Answer {
  int fd = -1;  // none: nothing is expected
  CURL* curl = nullptr;
  bool unwritten = false;  // the disk did not take it
  std::string complaint;
};

struct Unsent {
  std::string_view bytes;
  std::size_t at = 0;
};

std::size_t give(char* to, std::size_t size, std::size_t count, void* from) {
  auto& unsent = *static_cast<Unsent*>(from);
  const auto piece = unsent.bytes.substr(unsent.at, size * count);
  std::memcpy(to, piece.data(), piece.size());
  unsent.at += piece.size();
  return piece.size();
}

int rewind(void* from, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Unsent*>(from)->at = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t take(char* from, std::size_t size, std::size_t count, void* to) {
  auto& answer = *static_cast<Answer*>(to);
  std::string_view bytes(from, size * count);
  long status = 0;
  curl_easy_getinfo(answer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200 || answer.fd < 0) {
    answer.complaint += bytes.substr(0, complaint_bytes_max - std::min(answer.complaint.size(), complaint_bytes_max));
    return bytes.size();
  }
  while (!bytes.empty()) {
    const ssize_t written = write(answer.fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return answer.unwritten = true, 0;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return size * count;
}

// The text of an element in the store's XML, as it stands there.
std::string element(std::string_view xml, const std::string& name) {
  const auto begin = xml.find("<" + name + ">");
  const auto end = xml.find("</" + name + ">");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  const auto from = begin + name.size() + 2;
  return std::string(xml.substr(from, end - from));
}

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "20130524T000000Z"];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

class CurlHeaders {
 public:
  CurlHeaders() = default;
  ~CurlHeaders() { curl_slist_free_all(list_); }
  CurlHeaders(const CurlHeaders&) = delete;
  CurlHeaders& operator=(const CurlHeaders&) = delete;
  void add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

class S3Store final : public Contents {
 public:
  S3Store(S3Options options, std::string host, std::string root)
      : options_(std::move(options)), host_(std::move(host)), root_(std::move(root)) {}

  Result<std::string> put(std::string_view bytes) override;
  Result<Content> open(std::string_view sha256_hex) const override;

 private:
  struct Tried {
    long status = 0;  // 0: there was no answer
    bool again = false;
    Error error;  // where the status is not 200
  };
  // One request for a content. With `fd`, GET into it; otherwise PUT `bytes`.
  Tried attempt(std::string_view sha256_hex, std::string_view bytes, int fd) const;
  Tried insist(std::string_view sha256_hex, std::string_view bytes, int fd) const;
  void arrange(CURL* curl, const CurlHeaders& headers, const std::string& url) const;
  Error refusal(long status, std::string_view complaint) const;

  const S3Options options_;
  const std::string host_;  // of the endpoint, with its port
  const std::string root_;  // "/bucket/prefix/"
};

Result<std::string> S3Store::put(std::string_view bytes) {
  std::string digest = to_hex(sha256(bytes));
  if (auto tried = insist(digest, bytes, -1); tried.status != 200) return std::move(tried.error);
  return digest;
}

Result<Content> S3Store::open(std::string_view sha256_hex) const {
  if (!is_sha256_hex(sha256_hex)) return Error{ErrorKind::not_found, "no content has such a name"};
  const auto file = make_scratch(options_.scratch_dir);
  if (!file) return file.error();
  if (auto tried = insist(sha256_hex, {}, file.value().get()); tried.status != 200) return std::move(tried.error);
  return map_verified(file.value().get(), sha256_hex, options_.place + "/" + std::string(sha256_hex));
}

S3Store::Tried S3Store::insist(std::string_view sha256_hex, std::string_view bytes, int fd) const {
  for (int n = 1;; ++n) {
    auto tried = attempt(sha256_hex, bytes, fd);
    if (!tried.again || n >= options_.attempts_max) return tried;
    if (fd >= 0 && (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)) return tried;
    std::this_thread::sleep_for(std::chrono::milliseconds(100 << (2 * n)));  // 0.4 s, 1.6 s: a worker's thread
  }
}

S3Store::Tried S3Store::attempt(std::string_view sha256_hex, std::string_view bytes, int fd) const {
  const bool reads = fd >= 0;
  const std::string at = timestamp();
  S3Request request{.method = reads ? "GET" : "PUT", .path = root_ + std::string(sha256_hex)};
  request.payload_sha256 = reads ? to_hex(sha256("")) : std::string(sha256_hex);
  request.headers = {{"host", host_}, {"x-amz-content-sha256", request.payload_sha256}, {"x-amz-date", at}};
  CurlHeaders headers;
  for (const auto& [name, value] : request.headers) headers.add(name + ": " + value);
  headers.add("Authorization: " +
              s3_authorization(request, {options_.region, options_.access_key, options_.secret_key}, at));
  headers.add("Expect:");

  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (!curl) return {.error = {ErrorKind::overloaded, "out of memory"}};
  arrange(curl.get(), headers, options_.endpoint + request.path);
  Answer answer{.fd = fd, .curl = curl.get()};
  Unsent unsent{bytes};
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
  if (!reads) {
    curl_easy_setopt(curl.get(), CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
    curl_easy_setopt(curl.get(), CURLOPT_READFUNCTION, give);
    curl_easy_setopt(curl.get(), CURLOPT_READDATA, &unsent);
    curl_easy_setopt(curl.get(), CURLOPT_SEEKFUNCTION, rewind);
    curl_easy_setopt(curl.get(), CURLOPT_SEEKDATA, &unsent);
  }
  const CURLcode code = curl_easy_perform(curl.get());
  if (answer.unwritten) return {.error = {ErrorKind::overloaded, "write in " + options_.scratch_dir + ": disk full?"}};
  if (code != CURLE_OK) {
    return {.again = true,
            .error = {ErrorKind::overloaded,
                      "the object store at " + options_.endpoint + " cannot be used: " + curl_easy_strerror(code)}};
  }
  Tried tried;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &tried.status);
  if (tried.status == 200) return tried;
  tried.again = tried.status >= 500 || tried.status == 429;
  tried.error = refusal(tried.status, answer.complaint);
  return tried;
}

void S3Store::arrange(CURL* curl, const CurlHeaders& headers, const std::string& url) const {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);  // what was signed is what is sent
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_ms_max));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.silence_seconds_max));
  if (!options_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options_.ca_file.c_str());
}

Error S3Store::refusal(long status, std::string_view complaint) const {
  const std::string code = element(complaint, "Code");
  const std::string said = code + (code.empty() ? "" : ": ") + element(complaint, "Message");
  const std::string answered = "the object store at " + options_.endpoint + " answered " + std::to_string(status) +
                               (said.empty() ? "" : " (" + said + ")");
  if (status == 404 && code != "NoSuchBucket") return {ErrorKind::not_found, answered};
  if (status == 404) return {ErrorKind::overloaded, answered + ": make the bucket, or correct files.store"};
  if (status == 401 || status == 403) {
    return {ErrorKind::overloaded, answered +
                                       ": correct files.s3_access_key, files.s3_secret_key and files.s3_region, "
                                       "or what the key may do in " +
                                       options_.place};
  }
  return {ErrorKind::overloaded, answered};
}

Error wrong(const std::string& what) { return {ErrorKind::invalid, what}; }

}  // namespace

Result<std::unique_ptr<Contents>> open_s3(S3Options options) {
  constexpr std::string_view scheme = "s3://";
  if (!options.place.starts_with(scheme)) return wrong("files.store must be s3://BUCKET or s3://BUCKET/PREFIX");
  std::string place = options.place.substr(scheme.size());
  while (place.ends_with('/')) place.pop_back();
  const bool has_dots = ("/" + place + "/").find("/../") != std::string::npos || place.find("//") != std::string::npos;
  if (place.empty() || place.starts_with('/') || has_dots) {
    return wrong("files.store must be s3://BUCKET or s3://BUCKET/PREFIX, not " + options.place);
  }
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  const auto slashes = options.endpoint.find("://");
  const std::string host = slashes == std::string::npos ? "" : options.endpoint.substr(slashes + 3);
  const bool is_http = options.endpoint.starts_with("http://") || options.endpoint.starts_with("https://");
  if (!is_http || host.empty() || host.find_first_of("/?#@") != std::string::npos) {
    return wrong("files.s3_endpoint must be http(s)://HOST or http(s)://HOST:PORT");
  }
  if (options.access_key.empty() || options.secret_key.empty()) {
    return wrong("files.store is an object store: it needs files.s3_access_key and files.s3_secret_key");
  }
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return wrong("libcurl cannot be used");
  std::string root = s3_path("/" + place + "/");
  return std::unique_ptr<Contents>(std::make_unique<S3Store>(std::move(options), host, std::move(root)));
}

}  // namespace sluice::files
