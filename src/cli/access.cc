#include "cli/access.h"

#include <fstream>
#include <sstream>

#include "base/json.h"

namespace sluice::cli {
namespace {

std::string variable(const Environment& environment, std::string_view name) {
  for (const auto& [key, value] : environment) {
    if (key == name) return value;
  }
  return "";
}

std::string first_of(std::string a, std::string b, std::string c = "") {
  if (!a.empty()) return a;
  return !b.empty() ? b : c;
}

Result<Unit> read_bootstrap(const std::string& path, Access& access) {
  std::ifstream file(path);
  if (!file) return Error{ErrorKind::invalid, "cannot read " + path};
  std::ostringstream content;
  content << file.rdbuf();
  const auto document = json::Document::parse(content.str());
  if (!document) return Error{ErrorKind::invalid, path + ": " + document.error().what};
  const auto root = document.value().root();
  access.url = text_of(root, "base_url");
  access.key = text_of(root, "service_key");
  access.admin_key = text_of(root, "admin_key");
  access.tenant_id = text_of(root, "tenant_id");
  if (root.find("approver_key")) access.approver_file = path;
  return Unit{};
}

}  // namespace

Result<Access> find_access(const Arguments& arguments, const Environment& environment) {
  Access access;
  const auto asked = first_of(arguments.flag("--data"), variable(environment, "SLUICE_SERVER_DATA"));
  access.data_dir = first_of(asked, "./sluice-data");
  // A default directory may be missing, because the keys can come from elsewhere.
  if (auto read = read_bootstrap(access.data_dir + "/bootstrap.json", access); !read && !asked.empty())
    return read.error();

  auto url = first_of(arguments.flag("--url"), variable(environment, "SLUICE_URL"));
  // The keys of the machine's own server are not sent to another one.
  if (!url.empty() && url != access.url && asked.empty()) {
    access.key = access.admin_key = access.tenant_id = access.approver_file = "";
  }
  access.url = first_of(url, access.url, "http://127.0.0.1:8080");
  access.key = first_of(arguments.flag("--key"), variable(environment, "SLUICE_KEY"), access.key);
  access.admin_key =
      first_of(arguments.flag("--admin-key"), variable(environment, "SLUICE_ADMIN_KEY"), access.admin_key);
  access.ca_file = arguments.flag("--ca-file");
  return access;
}

}  // namespace sluice::cli
