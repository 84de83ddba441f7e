// Requests with a good key and any body, to every route: answered once, with JSON that can be read and never with 500.
// The first byte says which route, the second how the body is said to be.
#include "api/api_fixture.h"
#include "api/routes.h"
#include "base/check.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

class World final : public api::ApiTest {
 public:
  void ask(const api::Route& route, std::string_view kind, std::string_view body) {
    const bool is_admins = route.access == api::Access::admin || route.access == api::Access::metrics;
    const auto answer = ask_as(std::string(route.method), target_of(route),
                               {.key = is_admins ? admin_key : acme.key,
                                .body = std::string(body),
                                .headers = {{"Content-Type", std::string(kind)}}});
    if (answer->status == 0) return;  // it waits for an agent
    SLUICE_CHECK(answer->status != 500);
    if (answer->header("Content-Type").ends_with("json")) SLUICE_CHECK(json::Document::parse(answer->body));
    if (answer->status >= 400) SLUICE_CHECK(answer->header("Content-Type") == "application/problem+json");
  }

 private:
  void TestBody() override {}

  // Something of its kind where there is one.
  std::string target_of(const api::Route& route) {
    std::string out;
    for (std::size_t at = 0; at < route.path.size();) {
      const auto open = std::min(route.path.find('{', at), route.path.size());
      out += route.path.substr(at, open - at);
      if (open == route.path.size()) break;
      at = route.path.find('}', open) + 1;
      out += value_of(route.path.substr(open + 1, at - open - 2));
    }
    return out;
  }

  std::string value_of(std::string_view name) {
    if (name == "workspace_id") return model::WorkspaceId{acme.id.ulid}.text();
    if (name == "tenant_id") return acme.id.text();
    if (name == "agent_id" || name == "agent") return acme.agent.text();
    if (name == "conversation_id" || name == "chat_id") return make_conversation();
    if (name == "table") return make_table();
    return "x";
  }

  std::string make_table() {
    post(workspace_of(acme) + "/tables",
         R"({"name":"cities","columns":[{"name":"city","type":"text"},{"name":"size","type":"number"}]})");
    return "cities";
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static constexpr std::string_view kinds[] = {"application/json", "multipart/form-data; boundary=b", "text/plain"};
  const auto routes = api::routes();
  World().ask(routes[data[0] % routes.size()], kinds[data[1] % std::size(kinds)], fuzz::text_of(data, size).substr(2));
  return 0;
}
