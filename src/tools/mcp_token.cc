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
  start_ = context_.loop.after(Millis{0}, [this] { begin(); });
}

void McpToken::begin() {
  if (count_ >= mcp_tokens_max) {
    return end("it took " + std::to_string(count_) + " tokens in this run, and gets no more");
  }
  if (!issuer_.token_url.empty()) return ask_for_token();
  if (!challenge_.resource_metadata.empty()) return look(Step::resource, {challenge_.resource_metadata});
  look(Step::resource, resource_metadata_urls(server_.url));
}

void McpToken::look(Step step, std::vector<std::string> urls) {
  step_ = step;
  std::ranges::reverse(urls);
  urls_ = std::move(urls);
  look_on();
}

void McpToken::look_on() {
  url_ = std::move(urls_.back());
  urls_.pop_back();
  net::ClientRequest request{.method = "GET"};
  request.headers.add("Accept", "application/json");
  call(std::move(request));
}

// Ends the attempt, unless the answer may be at another URL.
void McpToken::miss(const std::string& why) {
  if (!urls_.empty()) return look_on();
  if (step_ == Step::token) return end("no token was issued for it: " + url_ + " " + why);
  const std::string of = step_ == Step::resource ? "of the server" : "of its authorization server " + issuer_url_;
  end("the metadata " + of +
      ", which name where tokens are issued (oauth.token_url is not set), are not usable: " + url_ + " " + why);
}

std::string McpToken::fault_of(std::string_view url) const {
  if (!net::is_plain_url(url)) return "is no plain http or https URL";
  if (!is_over_tls(url) && is_over_tls(server_.url)) return "is not https";
  const auto allowed = may_call_for_mcp(context_, dispatch_, url);
  return allowed ? "" : "was not called: " + allowed.error().what;
}

void McpToken::call(net::ClientRequest request) {
  if (const auto fault = fault_of(url_); !fault.empty()) return miss(fault);
  request.url = url_;
  request.public_addresses_only = net::reach_of(url_, context_.options.tool_urls) != net::Reach::anywhere;
  request.connect_ms_max = request.idle_ms_max = request.total_ms_max = mcp_token_ms_max;
  status_ = 0;
  body_.clear();
  call_ = context_.client.call(std::move(request), *this);
}

void McpToken::ask_for_token() {
  const auto& oauth = *server_.oauth;
  const bool is_basic = issuer_.proof == ClientProof::basic;
  step_ = Step::token;
  urls_.clear();
  url_ = issuer_.token_url;
  if (const auto fault = fault_of(url_); !fault.empty()) return miss(fault);
  const auto secret =
      with_secrets(context_, dispatch_, oauth.client_secret, url_, is_basic ? model::place_basic : model::place_body);
  if (!secret) return end("no token was asked for: " + secret.error().what);
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
  call(std::move(request));
}

void McpToken::on_head(int status, const net::Headers&) { status_ = status; }

void McpToken::on_body(std::string_view bytes) {
  body_.append(bytes);
  if (body_.size() <= mcp_token_answer_bytes_max) return;
  call_.reset();
  miss("answered with more than " + std::to_string(mcp_token_answer_bytes_max) + " bytes");
}

void McpToken::on_end(net::CallEnd ended) {
  call_.reset();
  if (ended.failure) return miss("did not answer: " + ended.what);
  if (status_ != 200) {
    return miss("answered with " + (step_ == Step::token ? refusal_words(status_, body_) : status_words(status_, "")));
  }
  hear();
}

void McpToken::hear() {
  const auto unusable = [&](const Error& error) { miss("answered, but " + error.what); };
  if (step_ == Step::token) return hear_grant();
  if (step_ == Step::resource) {
    auto found = read_resource_metadata(body_, server_.url);
    if (!found) return unusable(found.error());
    resource_ = std::move(found.value().resource);
    issuer_url_ = std::move(found.value().issuer);
    return look(Step::issuer, issuer_metadata_urls(issuer_url_));
  }
  auto found = read_issuer_metadata(body_, issuer_url_);
  if (!found) return unusable(found.error());
  issuer_ = std::move(found).take();
  ask_for_token();
}

void McpToken::hear_grant() {
  auto grant = read_grant(body_);
  if (!grant) return miss("answered, but " + grant.error().what);
  const auto seconds = grant.value().expires_in_seconds;
  const auto margin = std::min(mcp_token_margin_seconds, seconds / 5);
  renew_at_us_ = seconds == 0 ? 0 : context_.wall_loop.monotonic_us() + (seconds - margin) * 1'000'000;
  value_ = std::move(grant.value().token);
  ++count_;
  // Before it is sent anywhere: what it comes back in is scrubbed.
  dispatch_.secrets->pin({.alias = std::string(token_alias), .value = value_, .places = 0});
  end("");
}

void McpToken::end(std::string fault) {
  start_.cancel();
  deadline_.cancel();
  call_.reset();
  // What an endpoint says may quote what it was sent.
  std::exchange(done_, nullptr)(runs::scrubbed(dispatch_.secrets, std::move(fault)));
}

}  // namespace sluice::tools
