#include "tools/ask_tools.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "gates/gates.h"
#include "vault/vault.h"

namespace sluice::tools {
namespace {

constexpr std::string_view approval_tool = "request_approval";
constexpr std::string_view secret_tool = "request_secret";

// A human reads all of it.
constexpr std::size_t words_bytes_max = 2'000;
constexpr std::size_t items_max = 20;
constexpr std::size_t hosts_max = 20;
constexpr int64_t lifetime_seconds_max = 30LL * 24 * 3600;

constexpr std::string_view approval_schema =
    R"({"type":"object","properties":{)"
    R"("reason":{"type":"string","description":"Why you need it, for the human who decides"},)"
    R"("items":{"type":"array","description":"What you would do, one action each; the reason alone if not given",)"
    R"("items":{"type":"object","properties":{"description":{"type":"string"}},"required":["description"],)"
    R"("additionalProperties":false}},)"
    R"("action":{"type":"string","description":"Instead of items, if it is only one"},)"
    R"("expires_in_seconds":{"type":"integer","description":"How long it makes sense to wait for the decision"}},)"
    R"("required":["reason"],"additionalProperties":false})";

constexpr std::string_view secret_schema =
    R"({"type":"object","properties":{)"
    R"("alias":{"type":"string","description":"The name you will use it by: A to Z, 0 to 9 and _, like CRM_API_KEY"},)"
    R"("description":{"type":"string","description":"What it is: API key for the CRM system"},)"
    R"("hosts":{"type":"array","items":{"type":"string"},"description":"The hosts you will send it to"},)"
    R"("reason":{"type":"string","description":"Why you need it, for the human who decides"}},)"
    R"("required":["alias","description"],"additionalProperties":false})";

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

// Reads members one by one and keeps the first fault.
class Members {
 public:
  Members(json::Value root, std::string_view tool) : root_(root), tool_(tool) {}

  std::string words(std::string_view name, bool is_required) {
    const auto value = member(name, json::Kind::string);
    if (!value) {
      if (is_required) blame(std::string(tool_) + " needs the argument \"" + std::string(name) + "\".");
      return {};
    }
    return checked(name, *value->string());
  }
  int64_t seconds(std::string_view name) {
    const auto value = member(name, json::Kind::integer);
    if (!value) return 0;
    const auto number = *value->integer();
    if (number < 1 || number > lifetime_seconds_max) {
      blame(std::string(name) + " must be from 1 to " + std::to_string(lifetime_seconds_max) + ".");
    }
    return number;
  }
  std::optional<json::Value> list(std::string_view name, std::size_t count_max) {
    const auto value = member(name, json::Kind::array);
    if (value && value->size() > count_max) {
      blame(std::string(name) + " must be at most " + std::to_string(count_max) + ".");
    }
    return value;
  }
  std::string checked(std::string_view name, std::string_view words) {
    if (words.find_first_not_of(" \t\r\n") == std::string_view::npos) blame(std::string(name) + " must not be empty.");
    if (words.find('\0') != std::string_view::npos) blame(std::string(name) + " must not contain the character NUL.");
    if (words.size() > words_bytes_max) {
      blame(std::string(name) + " must be at most " + std::to_string(words_bytes_max) + " bytes long.");
    }
    return std::string(words);
  }
  void refuse_others(std::initializer_list<std::string_view> known) {
    root_.each_member([&](std::string_view name, json::Value) {
      for (const auto one : known) {
        if (one == name) return;
      }
      blame(std::string(tool_) + " has no argument \"" + std::string(name) + "\".");
    });
  }
  void blame(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const std::string& fault() const { return fault_; }

 private:
  // null is the same as absent: models send both.
  std::optional<json::Value> member(std::string_view name, json::Kind kind) {
    const auto value = root_.find(name);
    if (!value || value->is_null()) return std::nullopt;
    if (value->kind() == kind) return value;
    blame(std::string(name) + " must be of type " + std::string(json::name_of(kind)) + ", not " +
          std::string(json::name_of(value->kind())) + ".");
    return std::nullopt;
  }

  const json::Value root_;
  const std::string_view tool_;
  std::string fault_;
};

ApprovalRequest read_approval(Members& members) {
  members.refuse_others({"reason", "items", "action", "expires_in_seconds"});
  ApprovalRequest request{.reason = members.words("reason", true),
                          .lifetime_seconds = members.seconds("expires_in_seconds")};
  auto action = members.words("action", false);
  const auto items = members.list("items", items_max);
  if (items && !action.empty()) members.blame("Give items or action, not both.");
  if (items) {
    items->each_element([&](json::Value item) {
      const auto description = item.find("description");
      if (item.size() != 1 || !description || !description->string()) {
        return members.blame("Each of items must be an object with a description, a string, and nothing else.");
      }
      request.items.push_back({.description = members.checked("description", *description->string())});
    });
  }
  if (request.items.empty())
    request.items.push_back({.description = action.empty() ? request.reason : std::move(action)});
  return request;
}

ApprovalRequest read_secret(Members& members) {
  members.refuse_others({"alias", "description", "hosts", "reason"});
  auto alias = members.words("alias", true);
  if (!model::is_alias(alias)) {
    members.blame("alias must be upper-case letters, digits and _, beginning with a letter, at most 64 characters.");
  }
  model::RequestedItem item{.kind = model::ItemKind::secret, .description = members.words("description", true)};
  if (const auto hosts = members.list("hosts", hosts_max)) {
    hosts->each_element([&](json::Value host) {
      const auto name = host.string();
      if (!name) return members.blame("hosts must be strings.");
      const auto checked = gates::check_rule(
          {.effect = model::Effect::allow, .subject = model::Subject::host, .pattern = std::string(*name)});
      if (!checked) return members.blame("hosts: " + checked.error().what);
      item.hosts.emplace_back(*name);
    });
  }
  ApprovalRequest request{.reason = members.words("reason", false)};
  if (request.reason.empty()) {
    request.reason = "The agent asks for " + vault::placeholder(alias) + ", which is not on file.";
  }
  item.alias = std::move(alias);
  request.items.push_back(std::move(item));
  return request;
}

std::string lack_of(const egress::Question& question) {
  return question.alias.empty() ? "Requests to " + question.host + " must be allowed by a human"
                                : vault::placeholder(question.alias) + " is not on file";
}

}  // namespace

std::vector<models::ToolSpec> ask_tool_specs() {
  return {{std::string(approval_tool),
           "Asks a human for leave before you do something that you should not do by yourself. The call waits for the "
           "decision; if it is denied, the run ends.",
           std::string(approval_schema)},
          {std::string(secret_tool),
           "Asks a human for a credential. You never see it: you write {{secret:ALIAS}} in a request's header, query "
           "or body, and its value is put in on the way out.",
           std::string(secret_schema)}};
}

bool is_ask_tool(std::string_view name) { return name == approval_tool || name == secret_tool; }

Result<ApprovalRequest> plan_approval_request(const models::ToolCall& call) {
  SLUICE_CHECK(is_ask_tool(call.name));
  const auto document = json::Document::parse(call.arguments);
  if (!document) return wrong("The arguments are " + document.error().what + ".");
  const auto root = document.value().root();
  if (root.kind() != json::Kind::object) return wrong("The arguments must be a JSON object.");
  Members members(root, call.name);
  auto request = call.name == approval_tool ? read_approval(members) : read_secret(members);
  if (!members.fault().empty()) return wrong(members.fault());
  return request;
}

std::string alias_words(std::string_view alias) {
  const auto name = vault::placeholder(alias);
  return name + " is on file: write " + name +
         " where the value belongs in a request's header, query or body; it is put in on the way out.";
}

std::string approved_words(const std::vector<model::RequestedItem>& items) {
  std::string words = "Approved.";
  for (const auto& item : items) {
    if (item.alias) words += " " + alias_words(*item.alias);
  }
  return words;
}

ApprovalRequest approval_request_for(const egress::Question& question) {
  if (question.alias.empty()) {
    return {.reason = question.reason.empty() ? "A request to " + question.host + " must be allowed by a human."
                                              : question.reason,
            .items = {{.description = "Requests to " + question.host +
                                      ", until this run ends: with any method and any content, to any port that the "
                                      "agent's policy names. The first one: " +
                                      question.method + ".",
                       .hosts = {question.host}}}};
  }
  return {.reason = "A request to " + question.host + " uses " + vault::placeholder(question.alias) +
                    ", which is not on file.",
          .items = {{.kind = model::ItemKind::secret,
                     .description = "Secret for " + question.method + " requests to " + question.host,
                     .alias = question.alias,
                     .hosts = {question.host},
                     .places = static_cast<uint8_t>(model::places_by_default | question.place)}}};
}

std::string unasked_words(const egress::Question& question) {
  return lack_of(question) +
         (question.alias.empty() ? ", and none can be asked." : ", and no human can be asked for it.");
}

std::string untimely_words(const egress::Question& question, std::string_view when) {
  return lack_of(question) + (question.alias.empty() ? ", who is asked only " + std::string(when) + "."
                                                     : ": ask for it with request_secret before.");
}

}  // namespace sluice::tools
