#include "flow/template.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::flow {
namespace template_test {

std::vector<std::string> places_of(std::string_view text) {
  const auto parsed = Template::parse(text);
  if (!parsed) return {"refused"};
  std::vector<std::string> out;
  parsed.value().each_place([&](const Place& place) { out.push_back(text_of(place)); });
  return out;
}

Result<std::string> rendered(std::string_view text, const std::map<std::string, std::string>& values,
                             std::size_t bytes_max = 1'000, Writing writing = Writing::plain) {
  const auto parsed = Template::parse(text);
  if (!parsed) return parsed.error();
  const PlaceValue value = [&](const Place& place) -> Result<std::string> {
    const auto found = values.find(text_of(place));
    if (found == values.end()) return Error{ErrorKind::invalid, "nothing there"};
    return found->second;
  };
  return render(parsed.value(), value, bytes_max, writing);
}

TEST(Template, Places_are_found_wherever_they_stand) {
  using Places = std::vector<std::string>;
  EXPECT_EQ(places_of(""), Places{});
  EXPECT_EQ(places_of("no place { here } or }} here"), Places{});
  EXPECT_EQ(places_of("{{inputs.a}}"), Places{"inputs.a"});
  EXPECT_EQ(places_of("x{{ inputs.A_9 }}y{{\n\tblocks.one-1.response\n}}z"),
            (Places{"inputs.A_9", "blocks.one-1.response"}));
  EXPECT_EQ(places_of("{{blocks.a.files}}{{blocks.a.status}}{{blocks.a.json}}"),
            (Places{"blocks.a.files", "blocks.a.status", "blocks.a.json"}));
  EXPECT_EQ(places_of("{{blocks.a.json.items.0.the name}}"), Places{"blocks.a.json.items.0.the name"});
}

TEST(Template, What_names_nothing_is_refused) {
  for (const auto* text : {"{{}}",
                           "{{ }}",
                           "{{inputs}}",
                           "{{inputs.}}",
                           "{{inputs.a.b}}",
                           "{{inputs.9a}}",
                           "{{input.a}}",
                           "{{blocks.a}}",
                           "{{blocks.a.}}",
                           "{{blocks.A.response}}",
                           "{{blocks.a.answer}}",
                           "{{blocks.a.response.x}}",
                           "{{blocks.a.status.0}}",
                           "{{blocks.a.json.}}",
                           "{{blocks.a.json.x..y}}",
                           "{{secret:KEY}}",
                           "{{1+1}}",
                           "{{inputs.a",
                           "a }} {{ inputs.a }",
                           "{{{{inputs.a}}}}",
                           "{{blocks..response}}"}) {
    const auto parsed = Template::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
  }
  EXPECT_FALSE(Template::parse("{{inputs." + std::string(65, 'a') + "}}"));
  EXPECT_TRUE(Template::parse("{{inputs." + std::string(64, 'a') + "}}"));
  const auto open = Template::parse("{{inputs.a");
  EXPECT_EQ(open.error().what, "has a {{ without its }}");
}

TEST(Template, Values_stand_where_their_places_were_and_are_not_read_again) {
  EXPECT_EQ(rendered("Sum up {{blocks.a.response}} in {{inputs.b}}.",
                     {{"blocks.a.response", "{{inputs.b}}"}, {"inputs.b", "French"}})
                .take(),
            "Sum up {{inputs.b}} in French.");
  EXPECT_EQ(rendered("", {}).take(), "");
  EXPECT_EQ(rendered("{{inputs.b}}{{inputs.b}}", {{"inputs.b", ""}}).take(), "");
  EXPECT_FALSE(rendered("{{inputs.b}}", {}));
}

TEST(Template, What_grows_beyond_its_bound_is_refused) {
  EXPECT_EQ(rendered("{{inputs.b}}ab", {{"inputs.b", "123"}}, 5).take(), "123ab");
  EXPECT_FALSE(rendered("{{inputs.b}}abc", {{"inputs.b", "123"}}, 5));
  EXPECT_FALSE(rendered("{{inputs.b}}{{inputs.b}}", {{"inputs.b", "123"}}, 5));
}

TEST(Template, In_a_URL_a_value_cannot_leave_its_place) {
  const std::map<std::string, std::string> values{{"inputs.b", "../a b?c=d&e#f%2F/✓-._~Az09"}};
  EXPECT_EQ(rendered("https://h/p/{{inputs.b}}?q={{inputs.b}}", values, 1'000, Writing::url).take(),
            "https://h/p/..%2Fa%20b%3Fc%3Dd%26e%23f%252F%2F%E2%9C%93-._~Az09?q="
            "..%2Fa%20b%3Fc%3Dd%26e%23f%252F%2F%E2%9C%93-._~Az09");
}

}  // namespace template_test
}  // namespace sluice::flow
