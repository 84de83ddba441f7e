#include "flow/plan.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace sluice::flow {
namespace plan_test {

using Faults = model::FieldErrors;

Faults faults_in(const std::string& definition) {
  const auto document = json::Document::parse(definition);
  EXPECT_TRUE(document) << definition;
  Faults faults;
  const auto plan = make_plan(document.value().root(), "/definition", faults);
  EXPECT_EQ(plan.has_value(), faults.empty());
  return faults;
}

// Its only fault, as "pointer message".
std::string fault_in(const std::string& definition) {
  const auto faults = faults_in(definition);
  if (faults.empty()) return "";
  std::string out;
  for (const auto& fault : faults) out += (out.empty() ? "" : " | ") + fault.pointer + " " + fault.message;
  return out;
}

std::string blocks(const std::string& blocks, const std::string& more = "") {
  return R"({"blocks":[)" + blocks + "]" + more + "}";
}
std::string agents(const std::string& id, const std::string& prompt = "x") {
  return R"({"id":")" + id + R"(","type":"agents","agent":"a","prompt":")" + prompt + "\"}";
}
const std::string condition = R"({"id":"c","type":"condition","left":"{{blocks.a.response}}","op":"eq","right":"x"})";

TEST(Plan, A_definition_with_everything_makes_a_plan) {
  const auto document = json::Document::parse(R"({
    "inputs":[{"name":"topic","type":"text","required":true},{"name":"n","type":"number","default":2.5},
              {"name":"b","type":"boolean","default":false},{"name":"j","type":"json","default":{"a":[null]}}],
    "environment":{"SANDBOX_URL":"http://127.0.0.1:9/base","LANG_":"fr"},
    "blocks":[
      {"id":"last","type":"inference","model":{"provider":"offline","name":"m","key_alias":"K"},"system":"Be brief.",
       "prompt":"{{blocks.first.response}} {{blocks.second.json.a.0}}","max_output_tokens":5},
      {"id":"first","type":"agents","agent":"writer","prompt":"{{inputs.topic}}","sandbox_url":"https://r.example",
       "skills":["tables","files","workflow_editor"]},
      {"id":"second","type":"http","method":"POST","url":"https://h.example/{{inputs.topic}}","headers":{"X-A":"{{inputs.n}}",
       "Content-Type":"text/plain","Accept":"*/*"},"body":{"q":["{{inputs.topic}}",1]},"timeout_seconds":300,"idempotent":true},
      {"id":"check","type":"condition","left":"{{blocks.first.status}}","op":"is_empty"}],
    "edges":[{"from":"first","to":"check"},{"from":"check","to":"second","when":false},{"from":"second","to":"last"}],
    "outputs":{"text":"{{blocks.last.response}}"}})");
  Faults faults;
  const auto plan = make_plan(document.value().root(), "", faults);
  for (const auto& fault : faults) ADD_FAILURE() << fault.pointer << " " << fault.message;
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->order, (std::vector<std::size_t>{1, 3, 2, 0})) << "each after all that it follows";
  EXPECT_EQ(plan->definition.environment.at("SANDBOX_URL"), "http://127.0.0.1:9/base");
  EXPECT_TRUE(std::get<HttpBlock>(plan->definition.blocks[2].what).is_idempotent);
}

TEST(Plan, Blocks_that_do_not_depend_on_each_other_keep_the_order_they_have) {
  const auto plan =
      plan_of(blocks(agents("c") + "," + agents("a") + "," + agents("b"), R"(,"edges":[{"from":"b","to":"a"}])"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan.value().order, (std::vector<std::size_t>{0, 2, 1}));
}

struct Wrong {
  std::string definition;
  std::string_view fault;
};
void expect_faults(std::initializer_list<Wrong> cases) {
  for (const auto& [definition, fault] : cases) EXPECT_EQ(fault_in(definition), fault) << definition;
}

TEST(Plan, Every_member_of_an_agents_block_that_is_wrong_is_told_with_its_place) {
  expect_faults({
      {"[]", "/definition must be an object"},
      {"{}", "/definition/blocks is required"},
      {R"({"blocks":{}})", "/definition/blocks must be a list"},
      {blocks(""), "/definition/blocks must have at least one block"},
      {blocks(agents("a"), R"(,"edge":[])"), "/definition/edge is not known; did you mean edges?"},
      {blocks("1"), "/definition/blocks/0 must be an object"},
      {blocks(R"({"id":"a","type":"odd"})"),
       "/definition/blocks/0/type must be one of agents, inference, http, condition"},
      {blocks(R"({"type":"agents","agent":"a","prompt":"x"})"), "/definition/blocks/0/id is required"},
      {blocks(agents("A")),
       "/definition/blocks/0/id must be lower case letters, digits, - and _, and have at most 64 characters"},
      {blocks(R"({"id":"a","type":"agents","prompt":"x"})"), "/definition/blocks/0/agent is required"},
      {blocks(R"({"id":"a","type":"agents","agent":"","prompt":"x"})"), "/definition/blocks/0/agent must not be empty"},
      {blocks(R"({"id":"a","type":"agents","agent":"a"})"), "/definition/blocks/0/prompt is required"},
      {blocks(R"({"id":"a","type":"agents","agent":"a","prompt":"x","skils":[]})"),
       "/definition/blocks/0/skils is not known; did you mean skills?"},
      {blocks(R"({"id":"a","type":"agents","agent":"a","prompt":"x","skills":["magic"]})"),
       "/definition/blocks/0/skills/0 must be one of tables, files, workflow_editor"},
      {blocks(R"({"id":"a","type":"agents","agent":"a","prompt":"x","sandbox_url":"ftp://x"})"),
       "/definition/blocks/0/sandbox_url must be the http or https URL of a runner"},
  });
}

TEST(Plan, Every_member_of_another_block_that_is_wrong_is_told_with_its_place) {
  expect_faults({
      {blocks(R"({"id":"a","type":"inference","prompt":"x","model":{"name":"m"}})"),
       "/definition/blocks/0/model/provider is required"},
      {blocks(R"({"id":"a","type":"inference","prompt":"x","max_output_tokens":0})"),
       "/definition/blocks/0/max_output_tokens must be a whole number from 1 to 1000000"},
      {blocks(R"({"id":"a","type":"http","method":"FETCH","url":"http://x"})"),
       "/definition/blocks/0/method must be one of GET, HEAD, POST, PUT, PATCH, DELETE"},
      {blocks(R"({"id":"a","type":"http","method":"GET"})"), "/definition/blocks/0/url is required"},
      {blocks(R"({"id":"a","type":"http","method":"GET","url":"http://x","timeout_seconds":301})"),
       "/definition/blocks/0/timeout_seconds must be a whole number from 1 to 300"},
      {blocks(R"({"id":"a","type":"http","method":"GET","url":"http://x","headers":{"Host":"y"}})"),
       "/definition/blocks/0/headers/Host is set by the server itself"},
      {blocks(R"({"id":"a","type":"http","method":"GET","url":"http://x","headers":{"Idempotency-Key":"y"}})"),
       "/definition/blocks/0/headers/Idempotency-Key is set by the server itself"},
      {blocks(R"({"id":"a","type":"http","method":"GET","url":"http://x","headers":{"a/b":"y"}})"),
       "/definition/blocks/0/headers/a~1b is no name of an HTTP header"},
      {blocks(R"({"id":"a","type":"http","method":"GET","url":"http://x","body":5})"),
       "/definition/blocks/0/body must be a string"},
      {blocks(R"({"id":"a","type":"condition","left":"x","op":"like","right":"y"})"),
       "/definition/blocks/0/op must be one of eq, ne, contains, starts_with, lt, gt, is_empty"},
      {blocks(R"({"id":"a","type":"condition","left":"x","op":"eq"})"), "/definition/blocks/0/right is required"},
  });
}

TEST(Plan, Whatever_else_is_wrong_is_told_with_its_place) {
  expect_faults({
      {blocks(agents("a"), R"(,"inputs":[{"name":"9","type":"text"}])"),
       "/definition/inputs/0/name must be letters, digits and _, not begin with a digit, and have at most 64 "
       "characters"},
      {blocks(agents("a"), R"(,"inputs":[{"name":"a","type":"date"}])"),
       "/definition/inputs/0/type must be one of text, number, boolean, json"},
      {blocks(agents("a"), R"(,"inputs":[{"name":"a","type":"number","default":"1"}])"),
       "/definition/inputs/0/default must be of the input's type"},
      {blocks(agents("a"), R"(,"inputs":[{"name":"a","type":"text"},{"name":"a","type":"text"}])"),
       "/definition/inputs/1/name is the name of another one already"},
      {blocks(agents("a"), R"(,"environment":{"9":"x"})"), "/definition/environment/9 is no name of a variable"},
      {blocks(agents("a"), R"(,"environment":{"A":1})"), "/definition/environment/A must be a string"},
      {blocks(agents("a"), R"(,"environment":{"SANDBOX_URL":"here"})"),
       "/definition/environment/SANDBOX_URL must be the http or https URL of a runner"},
      {blocks(agents("a"), R"(,"outputs":{"a b":"x"})"),
       "/definition/outputs/a b is no name of an output: letters, digits and _"},
      {blocks(agents("a"), R"(,"outputs":{"a":"{{x}}"})"),
       "/definition/outputs/a has {{x}}, which names nothing: a place is inputs.NAME, or blocks.ID. and response, "
       "files, "
       "status or json"},
      {blocks(agents("a") + "," + agents("a")), "/definition/blocks/1/id is the name of another one already"},
  });
}

TEST(Plan, Edges_lead_from_a_block_to_a_block) {
  const auto edges = [](const std::string& list) {
    return fault_in(
        blocks(agents("a") + "," + condition + "," + agents("b"), R"(,"edges":[{"from":"a","to":"c"},)" + list + "]"));
  };
  EXPECT_EQ(edges(R"({"from":"c","to":"b","when":true})"), "");
  EXPECT_EQ(edges(R"({"from":"c","to":"b","when":true},{"from":"c","to":"b","when":false})"), "")
      << "both ways lead there";
  EXPECT_EQ(edges(R"({"from":"x","to":"b"})"), "/definition/edges/1/from names no block: \"x\"");
  EXPECT_EQ(edges(R"({"from":"a","to":"y"})"), "/definition/edges/1/to names no block: \"y\"");
  EXPECT_EQ(edges(R"({"to":"b"})"), "/definition/edges/1/from is required");
  EXPECT_EQ(edges(R"({"from":"c","to":"b"})"), "/definition/edges/1/when is required: block \"c\" is a condition");
  EXPECT_EQ(edges(R"({"from":"a","to":"b","when":true})"),
            "/definition/edges/1/when is for edges from a condition, and block \"a\" is none");
  EXPECT_EQ(edges(R"({"from":"a","to":"b"},{"from":"a","to":"b"})"), "/definition/edges/2 is there already");
  EXPECT_EQ(edges(R"({"from":"a","to":"b","when":1})"), "/definition/edges/1/when must be true or false");
}

TEST(Plan, A_circle_is_refused_and_shown) {
  const auto circle = [](const std::string& list) {
    return fault_in(
        blocks(agents("a") + "," + agents("b") + "," + agents("c") + "," + agents("d"), R"(,"edges":[)" + list + "]"));
  };
  const std::string begin = "/definition/edges go in a circle, so none of these blocks could begin: ";
  EXPECT_EQ(circle(R"({"from":"a","to":"a"})"), begin + "a → a");
  EXPECT_EQ(circle(R"({"from":"a","to":"b"},{"from":"b","to":"c"},{"from":"c","to":"b"})"), begin + "b → c → b");
  EXPECT_EQ(circle(R"({"from":"a","to":"b"},{"from":"b","to":"c"},{"from":"c","to":"a"},{"from":"c","to":"d"})"),
            begin + "a → b → c → a");
  EXPECT_EQ(circle(R"({"from":"a","to":"b"},{"from":"a","to":"c"},{"from":"b","to":"d"},{"from":"c","to":"d"})"), "");
}

TEST(Plan, A_template_names_what_is_there_and_before_it) {
  const auto fault = [](const std::string& prompt) {
    return fault_in(blocks(agents("a") + "," + agents("b", prompt) + "," + agents("z"),
                           R"(,"inputs":[{"name":"i","type":"text"}],"edges":[{"from":"a","to":"b"}])"));
  };
  EXPECT_EQ(fault("{{inputs.i}} {{blocks.a.response}}"), "");
  const std::string at = "/definition/blocks/1/prompt has {{";
  EXPECT_EQ(fault("{{inputs.x}}"), at + "inputs.x}}, and there is no such input");
  EXPECT_EQ(fault("{{blocks.x.json.a}}"), at + "blocks.x.json.a}}, and there is no such block");
  EXPECT_EQ(fault("{{blocks.b.response}}"), at + "blocks.b.response}}, and no edges lead from that block to this one");
  EXPECT_EQ(fault("{{blocks.z.response}}"), at + "blocks.z.response}}, and no edges lead from that block to this one");
  EXPECT_EQ(fault_in(blocks(agents("a"), R"(,"outputs":{"o":"{{blocks.x.response}}"})")),
            "/definition/outputs/o has {{blocks.x.response}}, and there is no such block");
  EXPECT_EQ(fault_in(blocks(
                R"({"id":"a","type":"http","method":"POST","url":"http://x","body":{"q":[{"r":"{{inputs.x}}"}]}})")),
            "/definition/blocks/0/body/q/0/r has {{inputs.x}}, and there is no such input");
  EXPECT_EQ(
      fault_in(blocks(R"({"id":"a","type":"http","method":"POST","url":"http://x","headers":{"X-A":"{{inputs.x}}"}})")),
      "/definition/blocks/0/headers/X-A has {{inputs.x}}, and there is no such input");
}

TEST(Plan, What_is_too_much_is_refused) {
  std::string many = agents("b0");
  for (std::size_t i = 1; i < limits::workflow_blocks_max; ++i) many += "," + agents("b" + std::to_string(i));
  EXPECT_EQ(fault_in(blocks(many)), "");
  EXPECT_EQ(fault_in(blocks(many + "," + agents("c"))), "/definition/blocks must have at most 50 elements");
  EXPECT_EQ(fault_in(blocks(agents("a", std::string(limits::workflow_definition_bytes_max, 'x')))),
            "/definition must have at most 262144 bytes");
}

// ── inputs ──

std::string inputs_of(const std::string& given, Faults* faults = nullptr) {
  const auto plan =
      plan_of(blocks(agents("a"), R"(,"inputs":[{"name":"t","type":"text","required":true},)"
                                  R"({"name":"n","type":"number","default":7},{"name":"b","type":"boolean"},)"
                                  R"({"name":"j","type":"json"}])"));
  const auto document = json::Document::parse(given);
  Faults found;
  const auto read = read_inputs(plan.value(), document.value().root(), "/inputs", found);
  EXPECT_EQ(read.has_value(), found.empty());
  if (faults != nullptr) *faults = found;
  if (!found.empty()) return found[0].pointer + " " + found[0].message;
  return *read;
}

TEST(Plan, The_first_hundred_of_many_faults_are_named) {
  std::string members;
  for (int i = 0; i < 5'000; ++i) members += ",\"n" + std::to_string(i) + "\":0";
  const auto faults = faults_in(blocks(agents("a"), members));
  EXPECT_EQ(faults.size(), limits::field_errors_max);
  EXPECT_TRUE(faults.has_more());
}

TEST(Plan, A_long_name_is_not_repeated_for_each_fault_below_it) {
  std::string places;
  for (int i = 0; i < 5'000; ++i) places += "{{inputs.x}}";
  const std::string name(50'000, 'n');
  const auto faults = faults_in(blocks(R"({"id":"a","type":"http","method":"POST","url":"https://h.example",)"
                                       R"("body":{")" +
                                       name + R"(":")" + places + "\"}}"));
  EXPECT_EQ(faults.size(), limits::field_errors_max);
  for (const auto& fault : faults) EXPECT_LE(fault.pointer.size(), limits::field_error_text_bytes_max + 3);
}

TEST(Plan, Inputs_have_their_types_and_defaults) {
  EXPECT_EQ(inputs_of(R"({"t":"x"})"), R"({"t":"x","n":7})");
  EXPECT_EQ(inputs_of(R"({"t":"","n":1.5,"b":true,"j":[1,{"a":"✓"}]})"),
            R"({"t":"","n":1.5,"b":true,"j":[1,{"a":"✓"}]})");
  EXPECT_EQ(inputs_of("{}"), "/inputs/t is required");
  EXPECT_EQ(inputs_of(R"({"t":null})"), "/inputs/t is required");
  EXPECT_EQ(inputs_of(R"({"t":1})"), "/inputs/t must be of type text");
  EXPECT_EQ(inputs_of(R"({"t":"x","n":"1"})"), "/inputs/n must be of type number");
  EXPECT_EQ(inputs_of(R"({"t":"x","b":1})"), "/inputs/b must be of type boolean");
  EXPECT_EQ(inputs_of(R"({"t":"x","other":1})"), "/inputs/other is not known");
  EXPECT_EQ(inputs_of("[]"), "/inputs must be an object");
  EXPECT_EQ(inputs_of(R"({"t":")" + std::string(limits::workflow_inputs_bytes_max, 'x') + "\"}"),
            "/inputs must have at most 262144 bytes");
}

}  // namespace plan_test
}  // namespace sluice::flow
