#include "tools/mcp_token.h"

#include <algorithm>
#include <utility>

#include "runs/runs.h"
#include "tools/http_answer.h"
#include "tools/mcp_access.h"

namespace sluice::tools {
namespace {

// Neither can be used by what runs in the sandbox: they have no place in any request.
constexpr std::string_view token_alias = "SLUICE_MCP_TOKEN";
constexpr std::string_view encoded_alias = "SLUICE_MCP_CLIENT";

}  // namespace

McpToken::McpToken(const Context& context, const dispatch::Dispatch& dispatch, const model::McpServer& server)
    : context_(context), dispatch_(dispatch), server_(server), resource_(server.url) {
  issuer_.token_url = server.oauth->token_url;
  is_wanted_ = !issuer_.token_url.empty();
}

bool McpToken::is_due() const {
  if (is_being_fetched()) return true;
  // A run's own clock stands still while it is suspended, and a token expires nevertheless.
  const bool is_old = renew_at_us_ != 0 && context_.wall_loop.monotonic_us() >= renew_at_us_;
  return value_.empty() ? is_wanted_ : is_old;
}

void McpToken::refuse(std::string_view sent, McpChallenge challenge) {
  if (sent != value_ || is_being_fetched()) return;  // it is another one by now
  value_.clear();
  is_wanted_ = true;
  // The refusal of a stream of events has none: the server still wants what it named before.
  if (!challenge.resource_metadata.empty() || !challenge.scope.empty()) challenge_ = std::move(challenge);
}

void McpToken::fetch(Callback<void(std::string)> done) {
  done_ = std::move(done);
  deadline_ = context_.loop.after(Millis{mcp_token_ms_max}, [this] {
    end("no token came for it within " + std::to_string(mcp_token_ms_max / 1'000) + " s, asked for at " + url_);
  });
  fetching_.start(fetch_token(), [this](std::string fault) { end(std::move(fault)); });
}

Task<std::string> McpToken::fetch_token() {
  co_await pause(context_.loop, Millis{0});
  if (count_ >= mcp_tokens_max) {
    co_return "it took " + std::to_string(count_) + " tokens in this run, and gets no more";
  }
  if (issuer_.token_url.empty()) {
    if (auto fault = co_await discover(); !fault.empty()) co_return fault;
  }
  co_return co_await ask_for_token();
}

Task<std::string> McpToken::discover() {
  std::vector<std::string> urls = {challenge_.resource_metadata};
  if (urls[0].empty()) urls = resource_metadata_urls(server_.url);
  auto resource = co_await look<McpResource>(std::move(urls), "the server", [this](std::string_view json) {
    return read_resource_metadata(json, server_.url);
  });
  if (!resource) co_return resource.error().what;
  resource_ = std::move(resource.value().resource);
  const auto by = std::move(resource.value().issuer);
  auto issuer = co_await look<McpIssuer>(issuer_metadata_urls(by), "its authorization server " + by,
                                         [&by](std::string_view json) { return read_issuer_metadata(json, by); });
  if (!issuer) co_return issuer.error().what;
  issuer_ = std::move(issuer).take();
  co_return "";
}

template <typename T>
Task<Result<T>> McpToken::look(std::vector<std::string> urls, std::string whose,
                               Callback<Result<T>(std::string_view)> read) {
  std::string why;
  for (auto& url : urls) {
    url_ = std::move(url);
    net::ClientRequest request{.method = "GET"};
    request.headers.add("Accept", "application/json");
    const auto answer = co_await call(std::move(request));
    if (!answer) {
      why = answer.error().what;
    } else if (answer.value().status != 200) {
      why = "answered with " + status_words(answer.value().status, "");
    } else if (auto found = read(answer.value().body)) {
      co_return found;
    } else {
      why = "answered, but " + found.error().what;
    }
  }
  co_return Error{ErrorKind::unavailable, "the metadata of " + whose +
                                              ", which name where tokens are issued (oauth.token_url is not set), are "
                                              "not usable: " +
                                              url_ + " " + why};
}

std::string McpToken::fault_of(std::string_view url) const {
  if (!net::is_plain_url(url)) return "is no plain http or https URL";
  if (!is_over_tls(url) && is_over_tls(server_.url)) return "is not https";
  const auto allowed = may_call_for_mcp(context_, dispatch_, url);
  return allowed ? "" : "was not called: " + allowed.error().what;
}

class McpToken::Request final : private net::CallListener {
 public:
  Request(net::Client& client, net::ClientRequest request, Callback<void(Result<Answer>)> done)
      : done_(std::move(done)), call_(client.call(std::move(request), *this)) {}

 private:
  void on_head(int status, const net::Headers&) override { answer_.status = status; }
  void on_body(std::string_view bytes) override {
    answer_.body.append(bytes);
    if (answer_.body.size() <= mcp_token_answer_bytes_max) return;
    finish(unusable("answered with more than " + std::to_string(mcp_token_answer_bytes_max) + " bytes"));
  }
  void on_end(net::CallEnd end) override {
    finish(end.failure ? unusable("did not answer: " + end.what) : Result<Answer>(std::move(answer_)));
  }
  static Result<Answer> unusable(std::string why) { return Error{ErrorKind::unavailable, std::move(why)}; }
  void finish(Result<Answer> answer) {
    auto done = std::move(done_);  // destroys this
    done(std::move(answer));
  }

  Callback<void(Result<Answer>)> done_;
  Answer answer_;
  std::unique_ptr<net::Call> call_;
};

Task<Result<McpToken::Answer>> McpToken::call(net::ClientRequest request) {
  if (auto fault = fault_of(url_); !fault.empty()) co_return Error{ErrorKind::denied, std::move(fault)};
  request.url = url_;
  request.public_addresses_only = net::reach_of(url_, context_.options.tool_urls) != net::Reach::anywhere;
  request.connect_ms_max = request.idle_ms_max = request.total_ms_max = mcp_token_ms_max;
  co_return co_await answer<Result<Answer>>(
      [&](auto done) { return std::make_unique<Request>(context_.client, std::move(request), std::move(done)); });
}

Task<std::string> McpToken::ask_for_token() {
  const auto& oauth = *server_.oauth;
  const bool is_basic = issuer_.proof == ClientProof::basic;
  url_ = issuer_.token_url;
  const auto failed = [this](const std::string& why) { return "no token was issued for it: " + url_ + " " + why; };
  if (const auto fault = fault_of(url_); !fault.empty()) co_return failed(fault);
  const auto secret =
      with_secrets(context_, dispatch_, oauth.client_secret, url_, is_basic ? model::place_basic : model::place_body);
  if (!secret) co_return "no token was asked for: " + secret.error().what;
  const auto encoded = form_encoded(secret.value());
  // Base64 of a value is found in what the run shows, base64 of an encoded value only if that is a value too.
  if (encoded != secret.value()) {
    dispatch_.secrets->pin({.alias = std::string(encoded_alias), .value = encoded, .places = 0});
  }
  net::ClientRequest request{.method = "POST", .body = "grant_type=client_credentials"};
  const auto& scope = oauth.scope.empty() ? challenge_.scope : oauth.scope;
  if (!scope.empty()) request.body += "&scope=" + form_encoded(scope);
  request.body += "&resource=" + form_encoded(oauth.resource.empty() ? resource_ : oauth.resource);
  if (is_basic) {  // both are form-encoded in it (RFC 6749, section 2.3.1)
    request.headers.add("Authorization", "Basic " + runs::basic_credentials(form_encoded(oauth.client_id), encoded));
  } else {
    request.body += "&client_id=" + form_encoded(oauth.client_id) + "&client_secret=" + encoded;
  }
  request.headers.add("Content-Type", "application/x-www-form-urlencoded");
  request.headers.add("Accept", "application/json");
  const auto answer = co_await call(std::move(request));
  if (!answer) co_return failed(answer.error().what);
  const auto& [status, body] = answer.value();
  if (status != 200) co_return failed("answered with " + refusal_words(status, body));
  auto grant = read_grant(body);
  if (!grant) co_return failed("answered, but " + grant.error().what);
  take(std::move(grant).take());
  co_return "";
}

void McpToken::take(McpGrant grant) {
  const auto seconds = grant.expires_in_seconds;
  const auto margin = std::min(mcp_token_margin_seconds, seconds / 5);
  renew_at_us_ = seconds == 0 ? 0 : context_.wall_loop.monotonic_us() + (seconds - margin) * 1'000'000;
  value_ = std::move(grant.token);
  ++count_;
  // Before it is sent anywhere: what it comes back in is scrubbed.
  dispatch_.secrets->pin({.alias = std::string(token_alias), .value = value_, .places = 0});
}

void McpToken::end(std::string fault) {
  deadline_.cancel();
  fetching_.drop();
  // What an endpoint says may quote what it was sent.
  std::exchange(done_, nullptr)(runs::scrubbed(dispatch_.secrets, std::move(fault)));
}

}  // namespace sluice::tools
