// The client of net.h over libcurl's multi-socket interface.
//
// curl's own callbacks only collect; listeners are called after curl has returned. So a listener may
// drop its call, or start another, which curl forbids inside its callbacks.
#include <curl/curl.h>

#include <sys/socket.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/addresses.h"
#include "net/net.h"

namespace sluice::net {

// Keeps one call of curl away from addresses that are this machine's, its network's or its cloud's. It looks at the
// address that is really connected to, or whose kept connection is used again, so that no name can lead past it.
class AddressGuard final {
 public:
  // Must outlive the handle. `proxy`: through it whatever the environment says; empty: the environment's, if any.
  // What is wrong with the URL, in words; empty: nothing so far.
  std::string guard(CURL* easy, std::string_view url, const std::string& proxy);
  // The address that was refused last, in words; empty: none was.
  const std::string& refusal() const { return refusal_; }

 private:
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* to);
  static int before_request(void* self, char* address, char* own_address, int port, int own_port);
  bool refuses(std::string_view text);

  std::string host_;
  std::string refusal_;
};

namespace {

// What curl has reported for a call and its listener has not got yet.
struct News {
  int status = 0;  // not 0: the head is complete
  Headers headers;
  std::string body;
  std::optional<CallEnd> end;
};

class CurlCall;

class CurlClient final : public Client {
 public:
  CurlClient(world::Reactor& reactor, ClientOptions options, CURLM* multi);
  ~CurlClient() override;

  std::unique_ptr<Call> call(ClientRequest request, CallListener& listener) override;

 private:
  friend class CurlCall;

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*);
  static int on_timer(CURLM*, long delay_ms, void* self);

  // Lets curl work on `fd`, then tells what came of it.
  void drive(curl_socket_t fd, int events);
  void collect_ends();
  void tell_news();

  world::Reactor& reactor_;
  const ClientOptions options_;
  CURLM* const multi_;
  std::map<curl_socket_t, std::unique_ptr<world::Watch>> watches_;
  world::Timer timer_;
  std::map<uint64_t, CurlCall*> calls_;  // by ticket
  uint64_t next_ticket_ = 1;
  std::vector<uint64_t> with_news_;
};

class CurlCall final : public Call {
 public:
  CurlCall(CurlClient& client, uint64_t ticket, ClientRequest request, CallListener& listener);
  ~CurlCall() override;

  void start();
  // Tells the listener, which may drop this call meanwhile.
  void tell_news();
  void end(CallEnd end);
  void ended_by_curl(CURLcode code);

 private:
  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_body(char* data, size_t size, size_t count, void* self);

  bool set_headers();
  // Later: no callback comes from inside call().
  void refuse(std::string what);
  void set_method();
  void set_limits();
  void take_header(std::string_view line);
  void has_news();
  void watch_for_silence();
  // Takes the handle from curl: nothing more is heard.
  void let_go();

  CurlClient& client_;
  const uint64_t ticket_;
  const ClientRequest request_;
  CallListener& listener_;
  AddressGuard guard_;
  CURL* easy_;
  curl_slist* header_list_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  News news_;
  int head_status_ = 0;  // of the head being read
  bool has_head_ = false;
  world::Timer silence_;
};

// ── one call ────────────────────────────────────────────────────────────────────────────────────

CurlCall::CurlCall(CurlClient& client, uint64_t ticket, ClientRequest request, CallListener& listener)
    : client_(client), ticket_(ticket), request_(std::move(request)), listener_(listener), easy_(curl_easy_init()) {
  SLUICE_CHECK(easy_ != nullptr);
  client_.calls_.emplace(ticket_, this);
}

CurlCall::~CurlCall() {
  let_go();
  client_.calls_.erase(ticket_);
}

void CurlCall::let_go() {
  silence_.cancel();
  if (easy_ == nullptr) return;
  curl_multi_remove_handle(client_.multi_, easy_);
  curl_easy_cleanup(std::exchange(easy_, nullptr));
  curl_slist_free_all(std::exchange(header_list_, nullptr));
}

bool has_line_break(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos; }

void CurlCall::start() {
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_text_);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &CurlCall::on_header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &CurlCall::on_body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  set_limits();
  set_method();
  if (!set_headers() || has_line_break(request_.method) || has_line_break(request_.url)) {
    // Bytes after a line break would be read as a header, or a request, of their own.
    return refuse("The URL, the method or a header has a line break in it.");
  }
  curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
  if (request_.public_addresses_only) {
    if (auto fault = guard_.guard(easy_, request_.url, client_.options_.proxy); !fault.empty()) {
      return refuse(std::move(fault));
    }
  }
  watch_for_silence();
  SLUICE_CHECK(curl_multi_add_handle(client_.multi_, easy_) == CURLM_OK);
}

void CurlCall::refuse(std::string what) {
  silence_ = client_.reactor_.after(
      Millis{0}, [this, what = std::move(what)]() mutable { end({CallFailure::refused, std::move(what)}); });
}

void CurlCall::set_limits() {
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  // Or else dropping a call waits, and the loop with it, until getaddrinfo() of a slow DNS server returns.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_ms_max));
  curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(request_.total_ms_max));
  // What a proxy says to CONNECT is not the answer.
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  const auto& options = client_.options_;
  if (!options.ca_file.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.proxy.empty()) curl_easy_setopt(easy_, CURLOPT_PROXY, options.proxy.c_str());
}

void CurlCall::set_method() {
  const std::string& method = request_.method;
  if (method == "HEAD") {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
    return;
  }
  const bool has_body = !request_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
  if (has_body) {
    curl_easy_setopt(easy_, CURLOPT_POST, 1L);
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.data());
  }
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, method.c_str());
}

bool CurlCall::set_headers() {
  std::vector<std::string> lines = {"Expect:"};  // asking first costs a round trip, and some servers never answer
  if (!request_.headers.find("Content-Type")) lines.emplace_back("Content-Type:");
  for (const auto& [name, value] : request_.headers.all()) {
    if (has_line_break(name) || has_line_break(value)) return false;
    lines.push_back(value.empty() ? name + ";" : name + ": " + value);
  }
  for (const std::string& line : lines) {
    curl_slist* longer = curl_slist_append(header_list_, line.c_str());
    SLUICE_CHECK(longer != nullptr);
    header_list_ = longer;
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_);
  return true;
}

size_t CurlCall::on_header(char* data, size_t size, size_t count, void* self) {
  static_cast<CurlCall*>(self)->take_header({data, size * count});
  return size * count;
}

size_t CurlCall::on_body(char* data, size_t size, size_t count, void* self) {
  auto& call = *static_cast<CurlCall*>(self);
  call.news_.body.append(data, size * count);
  call.has_news();
  return size * count;
}

void CurlCall::take_header(std::string_view line) {
  if (has_head_) return;  // trailers
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    const std::string_view code = line.substr(std::min(line.find(' '), line.size() - 1) + 1);
    head_status_ = 0;
    std::from_chars(code.data(), code.data() + code.size(), head_status_);
    news_.headers = {};
    return;
  }
  if (line.empty()) {
    if (head_status_ < 200) return;  // 1xx: the answer is still to come
    has_head_ = true;
    news_.status = head_status_;
    has_news();
    return;
  }
  const auto colon = line.find(':');
  if (colon == line.npos) return;
  std::string_view value = line.substr(colon + 1);
  const auto begin = value.find_first_not_of(" \t");
  value = begin == value.npos ? std::string_view() : value.substr(begin, value.find_last_not_of(" \t") + 1 - begin);
  news_.headers.add(line.substr(0, colon), value);
}

void CurlCall::has_news() {
  auto& with_news = client_.with_news_;
  if (std::find(with_news.begin(), with_news.end(), ticket_) == with_news.end()) with_news.push_back(ticket_);
}

void CurlCall::watch_for_silence() {
  silence_ = client_.reactor_.after(Millis{request_.idle_ms_max}, [this] {
    end({CallFailure::timed_out, "Nothing was heard for " + std::to_string(request_.idle_ms_max) + " ms."});
  });
}

void CurlCall::end(CallEnd end) {
  let_go();
  listener_.on_end(std::move(end));
}

void CurlCall::tell_news() {
  // Only tickets are safe to hold while the listener is called: it may drop this call.
  auto& client = client_;
  const auto ticket = ticket_;
  auto& listener = listener_;
  News news;
  std::swap(news.body, news_.body);
  std::swap(news.end, news_.end);
  if ((news.status = std::exchange(news_.status, 0)) != 0) std::swap(news.headers, news_.headers);

  if (!news.end) watch_for_silence();
  if (news.status != 0) listener.on_head(news.status, news.headers);
  if (!news.body.empty() && client.calls_.contains(ticket)) listener.on_body(news.body);
  if (news.end && client.calls_.contains(ticket)) end(std::move(*news.end));
}

CallFailure failure_of(CURLcode code, bool proxy_refused) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return CallFailure::timed_out;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_BAD_FUNCTION_ARGUMENT: return CallFailure::refused;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION: return CallFailure::unreachable;
    default: return proxy_refused ? CallFailure::unreachable : CallFailure::cut;
  }
}

void CurlCall::ended_by_curl(CURLcode code) {
  CallEnd end;
  if (code != CURLE_OK) {
    long connect_status = 0;
    curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &connect_status);
    end.failure = failure_of(code, connect_status >= 300);
    end.what = error_text_[0] != 0 ? error_text_ : curl_easy_strerror(code);
    if (!guard_.refusal().empty()) end = {CallFailure::refused, guard_.refusal()};
  }
  news_.end = std::move(end);
  has_news();
}

// ── all calls ───────────────────────────────────────────────────────────────────────────────────

CurlClient::CurlClient(world::Reactor& reactor, ClientOptions options, CURLM* multi)
    : reactor_(reactor), options_(std::move(options)), multi_(multi) {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlClient::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlClient::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlClient::~CurlClient() {
  SLUICE_CHECK(calls_.empty());
  curl_multi_cleanup(multi_);
}

std::unique_ptr<Call> CurlClient::call(ClientRequest request, CallListener& listener) {
  auto call = std::make_unique<CurlCall>(*this, next_ticket_++, std::move(request), listener);
  call->start();
  return call;
}

int CurlClient::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  auto& client = *static_cast<CurlClient*>(self);
  if (what == CURL_POLL_REMOVE) {
    client.watches_.erase(fd);
    return 0;
  }
  const world::Watch::Interest interest{.read = (what & CURL_POLL_IN) != 0, .write = (what & CURL_POLL_OUT) != 0};
  auto& watch = client.watches_[fd];
  if (watch) {
    watch->want(interest);
    return 0;
  }
  watch = client.reactor_.watch(fd, interest, [&client, fd](world::Ready ready) {
    // A hang-up is reported as readable: for curl, CURL_CSELECT_ERR would be the end, unread bytes or not.
    const bool readable = ready.readable || ready.hung_up;
    client.drive(fd, (readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0));
  });
  return 0;
}

int CurlClient::on_timer(CURLM*, long delay_ms, void* self) {
  auto& client = *static_cast<CurlClient*>(self);
  client.timer_.cancel();
  if (delay_ms < 0) return 0;
  client.timer_ = client.reactor_.after(Millis{delay_ms}, [&client] { client.drive(CURL_SOCKET_TIMEOUT, 0); });
  return 0;
}

void CurlClient::drive(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  collect_ends();
  tell_news();
}

void CurlClient::collect_ends() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CurlCall* call = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
    call->ended_by_curl(message->data.result);
  }
}

void CurlClient::tell_news() {
  for (const uint64_t ticket : std::exchange(with_news_, {})) {
    const auto found = calls_.find(ticket);
    if (found != calls_.end()) found->second->tell_news();
  }
}

struct FreeCurl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};

// As curl will understand it: "http://2130706433/" leads to 127.0.0.1.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, FreeCurl> owned(text);
  return text;
}

// The one that curl would take of the environment.
std::string proxy_of(std::string_view scheme) {
  for (const char* const name : {"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"}) {
    const std::string_view word(name);
    const bool is_for_https = word.starts_with("https") || word.starts_with("HTTPS");
    const bool is_for_all = word.starts_with("all") || word.starts_with("ALL");
    if (!is_for_all && is_for_https != (scheme == "https")) continue;
    if (const char* const value = std::getenv(name); value != nullptr && *value != 0) return value;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Client>> make_client(world::Reactor& reactor, ClientOptions options) {
  // Once a process, before any other use of curl.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM* multi = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (multi == nullptr) return Error{ErrorKind::unavailable, "libcurl could not be initialised"};
  return std::unique_ptr<Client>(std::make_unique<CurlClient>(reactor, std::move(options), multi));
}

std::string AddressGuard::guard(CURL* easy, std::string_view url, const std::string& proxy) {
  const std::unique_ptr<CURLU, FreeCurl> parsed(curl_url());
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, std::string(url).c_str(), 0) != CURLUE_OK) {
    return "The URL cannot be read.";
  }
  host_ = part_of(parsed.get(), CURLUPART_HOST);
  std::string_view host = host_;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (parse_address(host) && refuses(host)) return refusal_;
  const std::string way = proxy.empty() ? proxy_of(part_of(parsed.get(), CURLUPART_SCHEME)) : proxy;
  if (!way.empty()) {  // it is the proxy that connects, and no host is left out of it
    if ((host == "localhost" || host.ends_with(".localhost")) && refuses("127.0.0.1")) return refusal_;
    curl_easy_setopt(easy, CURLOPT_PROXY, way.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    return {};
  }
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &AddressGuard::open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &AddressGuard::before_request);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  return {};
}

bool AddressGuard::refuses(std::string_view text) {
  const auto address = parse_address(text);
  const auto why = address ? why_forbidden(*address) : std::string_view("no address that can be read");
  if (why.empty()) return false;
  refusal_ = host_ + " leads to " + std::string(text) + ", " + std::string(why) +
             ". The rule * of the server's configuration allows public addresses only; its operator can name this host "
             "there.";
  return true;
}

curl_socket_t AddressGuard::open_socket(void* self, curlsocktype, curl_sockaddr* to) {
  if (to->family != AF_INET && to->family != AF_INET6) return CURL_SOCKET_BAD;
  if (static_cast<AddressGuard*>(self)->refuses(address_of(to->addr).text())) return CURL_SOCKET_BAD;
  return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

// A connection that another call has opened may be used again; that call may have been allowed to.
int AddressGuard::before_request(void* self, char* address, char*, int, int) {
  return static_cast<AddressGuard*>(self)->refuses(address) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

}  // namespace sluice::net
