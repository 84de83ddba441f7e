#include "http/multipart.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace multipart_test {

constexpr std::string_view type = "multipart/form-data; boundary=b";

std::string form(const std::string& head, const std::string& bytes = "x") {
  return "--b\r\n" + head + "\r\n\r\n" + bytes + "\r\n--b--\r\n";
}
const char* const plain = "Content-Disposition: form-data; name=\"files\"; filename=\"a.txt\"";

// What is wrong with it; empty when nothing is.
std::string complaint(std::string_view body, std::string_view content_type = type, const MultipartLimits& limits = {}) {
  const auto parts = read_multipart(content_type, body, limits);
  if (parts) return "";
  EXPECT_EQ(parts.error().kind, ErrorKind::invalid);
  return parts.error().what;
}

std::string filename_in(const std::string& parameter) {
  const auto body = form("Content-Disposition: form-data; name=files; " + parameter);
  const auto parts = read_multipart(type, body, {});
  return parts ? parts.value().at(0).filename.value_or("none") : "refused";
}

TEST(Multipart, Parts_are_read_with_their_names_and_exact_bytes) {
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n"
      "one\r\n--not\r\n--b\r\ncontent-disposition:form-data;name=result\r\n\r\n{}\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"\"\r\n\r\n\r\n--b--";
  const auto parts = read_multipart("Multipart/Form-Data; charset=utf-8; boundary=\"b\"", body, {});
  ASSERT_TRUE(parts) << parts.error().what;
  ASSERT_EQ(parts.value().size(), 3U);
  EXPECT_EQ(parts.value()[0].name, "files");
  EXPECT_EQ(parts.value()[0].filename, "a.txt");
  EXPECT_EQ(parts.value()[0].content_type, "text/plain");
  EXPECT_EQ(parts.value()[0].bytes, "one\r\n--not");
  EXPECT_EQ(parts.value()[1].name, "result");
  EXPECT_FALSE(parts.value()[1].filename);
  EXPECT_EQ(parts.value()[1].bytes, "{}");
  EXPECT_EQ(parts.value()[2].filename, "");
  EXPECT_EQ(parts.value()[2].bytes, "");
}

TEST(Multipart, A_form_without_parts_is_empty) {
  const auto parts = read_multipart(type, "--b--\r\n", {});
  ASSERT_TRUE(parts);
  EXPECT_TRUE(parts.value().empty());
}

TEST(Multipart, File_names_come_in_the_spellings_that_clients_use) {
  EXPECT_EQ(filename_in(R"(filename="a \"b\" \\ c.txt")"), R"(a "b" \ c.txt)");
  EXPECT_EQ(filename_in(R"(filename="C:\dir\a.txt")"), R"(C:\dir\a.txt)");
  EXPECT_EQ(filename_in("filename=\"gr\xc3\xbc\xc3\x9f.txt\""), "gr\xc3\xbc\xc3\x9f.txt");
  EXPECT_EQ(filename_in("filename=\"x\"; filename*=UTF-8''gr%C3%BC%C3%9F.txt"), "gr\xc3\xbc\xc3\x9f.txt");
  EXPECT_EQ(filename_in("filename*=utf-8'en'a.txt"), "a.txt");
  EXPECT_EQ(filename_in("filename*=latin1''a.txt"), "refused");
  EXPECT_EQ(filename_in("filename*=UTF-8''%FF"), "refused");
  EXPECT_EQ(filename_in("filename=\"\xff\""), "refused");
  EXPECT_EQ(filename_in("filename=\"a"), "refused");
  EXPECT_EQ(filename_in("filename=a; filename=b"), "refused");
  EXPECT_EQ(filename_in("filename"), "refused");
}

TEST(Multipart, An_ambiguous_head_is_refused) {
  EXPECT_EQ(complaint(form(plain)), "");
  EXPECT_NE(complaint(""), "");
  EXPECT_NE(complaint("preamble\r\n" + form(plain)), "");
  EXPECT_NE(complaint(form(plain) + "epilogue"), "");
  EXPECT_NE(complaint("--b\n" + std::string(plain) + "\n\nx\n--b--\n"), "") << "bare line feeds";
  EXPECT_NE(complaint("--bb\r\n" + std::string(plain) + "\r\n\r\nx\r\n--b--\r\n"), "");
  EXPECT_NE(complaint("--b\r\n" + std::string(plain) + "\r\n\r\nx\r\n--b\r\n"), "") << "no last boundary";
  EXPECT_NE(complaint("--b\r\n" + std::string(plain) + "\r\n\r\nx"), "");
  EXPECT_NE(complaint(form("X: y")), "") << "no Content-Disposition";
  EXPECT_NE(complaint(form(std::string(plain) + "\r\n" + plain)), "");
  EXPECT_NE(complaint(form("Content-Disposition: attachment; name=x")), "");
  EXPECT_NE(complaint(form("Content-Disposition: form-data; filename=x")), "") << "no name";
  EXPECT_NE(complaint(form("Content-Disposition form-data")), "");
  EXPECT_NE(complaint(form(std::string(plain) + "\r\n folded: x")), "");
  EXPECT_NE(complaint(form(std::string(plain) + "\r\nX: a\x01z")), "");
  EXPECT_NE(complaint(form(std::string(plain) + "\r\nContent-Transfer-Encoding: base64")), "");
  EXPECT_EQ(complaint(form(std::string(plain) + "\r\nContent-Transfer-Encoding: binary")), "");
}

TEST(Multipart, A_boundary_is_one_that_the_standard_allows) {
  EXPECT_TRUE(is_multipart(type));
  EXPECT_FALSE(is_multipart("multipart/mixed; boundary=b"));
  EXPECT_FALSE(is_multipart(""));
  for (const std::string_view wrong :
       {"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=\"b \"", "multipart/form-data; boundary=b; boundary=c",
        "multipart/form-data; boundary=\"a\x01\"", "multipart/form-data; boundary=\"b"}) {
    EXPECT_EQ(complaint(form(plain), wrong), "the Content-Type has no usable boundary") << wrong;
  }
  const std::string longest(70, 'b');
  EXPECT_EQ(complaint("--" + longest + "--", "multipart/form-data; boundary=" + longest), "");
  EXPECT_NE(complaint("--b" + longest + "--", "multipart/form-data; boundary=b" + longest), "");
}

TEST(Multipart, Everything_has_a_limit) {
  const std::string part = "\r\n" + std::string(plain) + "\r\n\r\nx\r\n--b";
  const MultipartLimits limits{.parts_max = 2, .head_bytes_max = 100};
  EXPECT_EQ(complaint("--b" + part + part + "--", type, limits), "");
  EXPECT_NE(complaint("--b" + part + part + part + "--", type, limits), "");
  EXPECT_NE(complaint(form(std::string(plain) + "\r\nX: " + std::string(100, 'y')), type, limits), "");
}

TEST(Multipart, Cut_anywhere_it_is_refused) {
  const auto whole = form(plain, "some bytes");
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    EXPECT_NE(complaint(whole.substr(0, size)), "") << size;
  }
}

}  // namespace multipart_test
}  // namespace sluice::http
