#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/limits.h"

namespace sluice::json {
namespace json_test {

// What a round trip through the house makes of `text`.
std::string rewritten(std::string_view text) {
  auto document = Document::parse(text);
  if (!document) return "refused: " + document.error().what;
  return document.value().root().to_text();
}

std::string written(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

TEST(JsonReading, Tells_kinds_apart) {
  auto document = Document::parse(R"([null,true,1,1.5,"s",[],{}])");
  ASSERT_TRUE(document);
  std::vector<Kind> kinds;
  document.value().root().each_element([&](Value value) { kinds.push_back(value.kind()); });
  EXPECT_EQ(kinds, (std::vector{Kind::null, Kind::boolean, Kind::integer, Kind::real, Kind::string, Kind::array,
                                Kind::object}));
}

TEST(JsonReading, A_value_of_another_kind_is_empty_not_converted) {
  auto document = Document::parse(R"({"number":1,"word":"1","yes":true})");
  ASSERT_TRUE(document);
  const Value root = document.value().root();
  EXPECT_FALSE(root.find("number")->string());
  EXPECT_FALSE(root.find("word")->integer());
  EXPECT_FALSE(root.find("yes")->integer());
  EXPECT_FALSE(root.find("number")->boolean());
  EXPECT_FALSE(root.integer());
  EXPECT_EQ(root.find("number")->real(), 1.0);
  EXPECT_FALSE(root.find("absent"));
  EXPECT_FALSE(root.find("number")->find("inside a number"));
}

TEST(JsonReading, The_default_value_is_null) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_EQ(Value().to_text(), "null");
  EXPECT_FALSE(Value().find("x"));
  EXPECT_EQ(Value().size(), 0U);
}

TEST(JsonReading, Members_come_in_the_order_written) {
  auto document = Document::parse(R"({"b":1,"a":2,"c":3})");
  ASSERT_TRUE(document);
  std::string names;
  document.value().root().each_member([&](std::string_view name, Value) { names += name; });
  EXPECT_EQ(names, "bac");
  EXPECT_EQ(document.value().root().size(), 3U);
  EXPECT_EQ(document.value().root().find("b")->integer(), 1);
}

TEST(JsonReading, A_name_stands_once_in_an_object) {
  const std::string twice = "refused: a name stands twice in an object";
  EXPECT_EQ(rewritten(R"({"b":1,"a":2,"b":3})"), twice);
  EXPECT_EQ(rewritten(R"([{"x":{"a":1,"\u0061":2}}])"), twice) << "however it is spelt";
  EXPECT_EQ(rewritten(R"([{"a":1},{"a":{"a":1}},{"A":1,"a":2,"":3}])"),
            R"([{"a":1},{"a":{"a":1}},{"A":1,"a":2,"":3}])");
  // At every size around the few that are compared without sorting, and at every place.
  for (std::size_t count = 1; count < 20; ++count) {
    std::string members;
    for (std::size_t i = 0; i < count; ++i) members += (i > 0 ? ",\"n" : "\"n") + std::to_string(i) + "\":0";
    EXPECT_TRUE(Document::parse("{" + members + "}")) << members;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(rewritten("{" + members + ",\"n" + std::to_string(i) + "\":0}"), twice) << count << " " << i;
    }
  }
}

TEST(JsonReading, A_hundred_thousand_names_in_one_object_take_no_time_to_speak_of) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(Document::parse(text + "\"x\":0}"));
  EXPECT_FALSE(Document::parse(text + "\"99999\":0}"));
}

TEST(JsonReading, A_number_too_large_is_told_from_one_that_is_none) {
  for (const std::string_view number : {"1e999999", "-1e400", "123456789012345678901234567890", "-9223372036854775809",
                                        "18446744073709551616", "1.5E+999"}) {
    const std::string text(number);
    for (const auto& around : {text, "[" + text + "]", R"({"a\"-01":)" + text + " }", "[\"01\",0.5, " + text + "\n]"}) {
      EXPECT_EQ(rewritten(around), "refused: a number is too large to be read") << around;
    }
  }
  for (const std::string_view text :
       {"01", "[-]", "1.", "1.e5", ".5", "1e", "1e+", "+1", "0x1", "--1", "1a", "[1e999,01]"}) {
    EXPECT_EQ(rewritten(text), "refused: not valid JSON") << text;
  }
  EXPECT_TRUE(Document::parse("[1e-999999,0,-0,0.0,1E5,10]"));
}

TEST(JsonReading, Integers_reach_to_their_ends_and_no_further) {
  auto document =
      Document::parse("[9223372036854775807,-9223372036854775808,9223372036854775808,18446744073709551615]");
  ASSERT_TRUE(document);
  std::vector<std::optional<int64_t>> values;
  document.value().root().each_element([&](Value value) { values.push_back(value.integer()); });
  EXPECT_EQ(values,
            (std::vector<std::optional<int64_t>>{std::numeric_limits<int64_t>::max(),
                                                 std::numeric_limits<int64_t>::min(), std::nullopt, std::nullopt}));
  EXPECT_FALSE(Document::parse("18446744073709551616"));
}

TEST(JsonReading, Escapes_are_undone) {
  auto document = Document::parse(R"("\"\\\/\b\f\n\r\t\u0000\u00e9\u20ac\ud83d\ude00")");
  ASSERT_TRUE(document);
  EXPECT_EQ(document.value().root().string(), std::string_view("\"\\/\b\f\n\r\t\0é€😀", 8 + 1 + 2 + 3 + 4));
}

TEST(JsonReading, Refuses_what_is_not_one_JSON_value) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[1,]",
                                      "{\"a\":}",
                                      "{\"a\" 1}",
                                      "{a:1}",
                                      "'a'",
                                      "nul",
                                      "truefalse",
                                      "1 2",
                                      "{}{}",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "0x1",
                                      "NaN",
                                      "Infinity",
                                      "-",
                                      "[1 2]",
                                      "\"a",
                                      "\"tab\there\"",
                                      "\"line\nbreak\"",
                                      "// no\n1",
                                      "\xef\xbb\xbf{}",
                                      "1e999"}) {
    EXPECT_FALSE(Document::parse(text)) << text;
  }
}

TEST(JsonReading, Refuses_bad_escapes_and_halves_of_surrogate_pairs) {
  for (const std::string_view text : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud800")", R"("\udc00")",
                                      R"("\ud800\ud800")", R"("\ud800x")", R"("\ud83d\n")", R"({"\ud800":1})"}) {
    EXPECT_FALSE(Document::parse(text)) << text;
  }
}

TEST(JsonReading, Refuses_bytes_that_are_not_UTF8) {
  for (const std::string_view text : {"\"\xff\"", "\"\xc0\x80\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"", "\"\x80\"", "{\"\xff\":1}"}) {
    auto document = Document::parse(text);
    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().kind, ErrorKind::invalid);
    EXPECT_EQ(document.error().what, "not valid UTF-8");
  }
}

TEST(JsonReading, Nesting_is_allowed_to_the_limit_and_not_beyond) {
  EXPECT_TRUE(Document::parse(nested(limits::json_depth_max + 1)));  // the innermost holds nothing: depth max
  for (const int depth : {limits::json_depth_max + 2, 1'000, 1'024, 1'025, 100'000}) {
    auto document = Document::parse(nested(depth));
    ASSERT_FALSE(document) << depth;
    EXPECT_EQ(document.error().what, "nested too deeply") << depth;
  }
  std::string objects;
  for (int i = 0; i < limits::json_depth_max + 2; ++i) objects += R"({"a":)";
  EXPECT_FALSE(Document::parse(objects + "1" + std::string(limits::json_depth_max + 2, '}')));
}

TEST(JsonReading, Says_what_is_wrong_in_words) {
  EXPECT_EQ(rewritten(""), "refused: there is no JSON: the text is empty");
  EXPECT_EQ(rewritten("{"), "refused: not valid JSON");
  EXPECT_EQ(rewritten(R"("\ud800")"), "refused: a string has a bad escape or half of a surrogate pair");
}

TEST(JsonReading, A_moved_document_keeps_its_values) {
  auto parsed = Document::parse(R"({"a":["x"]})");
  ASSERT_TRUE(parsed);
  const Document document = std::move(parsed).take();
  EXPECT_EQ(document.root().to_text(), R"({"a":["x"]})");
}

TEST(JsonWriting, A_text_without_blanks_is_written_as_it_was) {
  for (const std::string_view text :
       {"null", "true", "false", "0", "-1", "18446744073709551615", "1.5", "1e+300", "\"\"", "[]", "{}",
        R"([1,[2,{"a":null}],"x"])", R"({"a":{"b":[]},"c":""})", R"("é€😀")", R"({"":{"":""}})"}) {
    EXPECT_EQ(rewritten(text), text);
  }
  EXPECT_EQ(rewritten(" { \"a\" : [ 1 , 2 ] } \n"), R"({"a":[1,2]})");
}

TEST(JsonWriting, What_was_written_is_read_and_written_the_same) {
  // A real that prints as digits alone would come back as an integer, or as one too large to read.
  for (const std::string_view text :
       {"1.0", "-0.0", "-0", "1e2", "18446744073709551616.0", "1e19", "1.8446744073709552e19",
        "123456789012345678901234567890.0", "5e-324", "1.7976931348623157e308", R"("\u001f\/\b\f")"}) {
    const std::string once = rewritten(text);
    EXPECT_EQ(rewritten(once), once) << text;
  }
}

TEST(JsonWriting, Exactly_what_must_be_escaped_is_escaped) {
  EXPECT_EQ(written("plain / é € 😀 \x7f"), "\"plain / é € 😀 \x7f\"");
  EXPECT_EQ(written("\"\\\n\r\t"), R"("\"\\\n\r\t")");
  EXPECT_EQ(written(std::string_view("\0\x01\x1f", 3)), R"("\u0000\u0001\u001f")");
  EXPECT_EQ(written("\b\f"), R"("\u0008\u000c")");
  EXPECT_EQ(written(""), R"("")");
}

TEST(JsonWriting, Every_code_point_below_128_survives_in_every_place) {
  for (char c = 0; c >= 0 && c < 127; ++c) {
    for (const std::string& text :
         {std::string(1, c), "a" + std::string(1, c), std::string(1, c) + "b", std::string(3, c)}) {
      const std::string out = written(text);
      auto document = Document::parse(out);
      ASSERT_TRUE(document) << out;
      EXPECT_EQ(document.value().root().string(), text);
    }
  }
}

// Text is looked at eight bytes at a time, and the rest one by one.
TEST(JsonWriting, Every_byte_is_escaped_or_not_in_the_same_way_wherever_it_stands) {
  const std::string around = "\xc3\xa9 !#[]\x7f\x80\xff~ and more of it";
  for (int c = 0; c < 256; ++c) {
    const std::string byte(1, static_cast<char>(c)), alone = written(byte);
    for (std::size_t size = 0; size < around.size(); ++size) {
      for (std::size_t place = 0; place <= size; ++place) {
        const std::string before = around.substr(0, place), after = around.substr(place, size - place);
        ASSERT_EQ(written(before + byte + after), '"' + before + alone.substr(1, alone.size() - 2) + after + '"');
        ASSERT_EQ(written(byte + before + byte), alone.substr(0, alone.size() - 1) + before + alone.substr(1));
      }
    }
  }
}

TEST(JsonWriting, The_writer_sets_its_own_commas) {
  std::string out;
  Writer writer(out);
  writer.begin_object().key("a").integer(1).key("b").begin_array();
  writer.string("x").null().boolean(true).begin_object().end_object().begin_array().end_array().raw(R"({"y":2})");
  writer.end_array().key_escaped("c\"").real(0.5).key("d").string_or_null(std::nullopt).end_object();
  EXPECT_EQ(out, R"({"a":1,"b":["x",null,true,{},[],{"y":2}],"c\"":0.5,"d":null})");
}

TEST(JsonWriting, Infinity_and_nan_have_no_word_in_JSON) {
  std::string out;
  Writer(out).begin_array().real(HUGE_VAL).real(-HUGE_VAL).real(std::nan("")).end_array();
  EXPECT_EQ(out, "[null,null,null]");
}

TEST(JsonKind, Is_named_as_a_person_would_say_it) {
  EXPECT_EQ(name_of(Kind::real), "number");
  EXPECT_EQ(name_of(Kind::object), "object");
  EXPECT_EQ(name_of(Kind::null), "null");
}

}  // namespace json_test
}  // namespace sluice::json
