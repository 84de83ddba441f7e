#include "station/workspace_supplies.h"

#include "base/json.h"
#include "base/limits.h"
#include "workspace/workspace.h"

namespace sluice::station {
namespace {

constexpr std::size_t zip_bytes_max = 512 * 1024 * 1024;
constexpr int64_t idle_ms_max = 60'000;
constexpr int64_t total_ms_max = 600'000;

bool is_fine(int status) { return status / 100 == 2; }

// What the workspace says it kept; one that says nothing kept all of it.
std::vector<dispatch::KeptAsset> kept_in(std::string_view body) {
  std::vector<dispatch::KeptAsset> kept;
  const auto answer = json::Document::parse(body);
  if (!answer || answer.value().root().kind() != json::Kind::object) return kept;
  const auto files = answer.value().root().find("files");
  if (!files || files->kind() != json::Kind::array) return kept;
  files->each_element([&](json::Value file) {
    if (file.kind() != json::Kind::object) return;
    const auto text = [&](std::string_view name) {
      const auto value = file.find(name);
      return std::string(value ? value->string().value_or("") : "");
    };
    const auto size = file.find("size");
    kept.push_back({text("id"), text("name"), size ? size->integer().value_or(0) : 0, text("sha256")});
  });
  return kept;
}

}  // namespace

http::Multipart multipart_of(const std::vector<dispatch::Asset>& assets, std::string_view result,
                             std::string boundary) {
  std::string message;
  json::Writer(message).begin_object().key("message").string(result).end_object();
  std::vector<http::Part> parts;
  for (const auto& asset : assets) {
    parts.push_back({"files", asset.name, "application/octet-stream", asset.bytes});
  }
  parts.push_back({"result", std::nullopt, "application/json", message});
  return http::write_multipart(parts, std::move(boundary));
}

void WorkspaceSupplies::skill_bundle(const dispatch::SkillUse& skill, Callback<void(Result<std::string>)> done) {
  net::ClientRequest request{.url = workspace_.agent_url + "/skills/" + skill.id,
                             .headers = {{"Authorization", "Bearer " + workspace_.bearer}}};
  ask(std::move(request), limits::skill_bundle_bytes_max,
      [name = skill.name, done = std::move(done)](Result<Fetched> got) mutable {
        if (!got) return done(std::move(got.error()).in("fetch the skill " + name));
        if (is_fine(got.value().status)) return done(std::move(got.value().body));
        done(Error{ErrorKind::unavailable, "the workspace refused the skill " + name + words_of(got.value())});
      });
}

void WorkspaceSupplies::file(const dispatch::FileUse& file, Callback<void(Result<std::string>)> done) {
  const auto read = [name = file.name, size = file.size_bytes](std::string_view zip) {
    return workspace::read_from_zip(zip, name, static_cast<std::size_t>(size));
  };
  if (!zip_.empty()) {
    return loop_.defer([weak = weak_from_this(), read, done = std::move(done)]() mutable {
      if (const auto self = weak.lock(); self && !self->closed_) done(read(self->zip_));
    });
  }
  net::ClientRequest request{.url = workspace_.files_url,
                             .headers = {{"Authorization", "Bearer " + workspace_.bearer}}};
  ask(std::move(request), zip_bytes_max, [this, read, done = std::move(done)](Result<Fetched> got) mutable {
    if (!got) return done(std::move(got.error()).in("fetch the files"));
    if (!is_fine(got.value().status)) {
      return done(Error{ErrorKind::unavailable, "the workspace refused the files" + words_of(got.value())});
    }
    zip_ = std::move(got.value().body);
    done(read(zip_));
  });
}

void WorkspaceSupplies::take_assets(std::vector<dispatch::Asset> assets, std::string result,
                                    Callback<void(Result<std::vector<dispatch::KeptAsset>>)> done) {
  if (assets.empty()) {
    return loop_.defer([weak = weak_from_this(), done = std::move(done)]() mutable {
      if (const auto self = weak.lock(); self && !self->closed_) done(std::vector<dispatch::KeptAsset>{});
    });
  }
  auto multipart = multipart_of(assets, result, "sluice-" + ids_.make<model::RequestId>().text());
  net::ClientRequest request{.method = "POST",
                             .url = workspace_.agent_url + "/results",
                             .headers = {{"Authorization", workspace_.otp_upload.value_or("")},
                                         {"Content-Type", std::move(multipart.content_type)}},
                             .body = std::move(multipart.body)};
  ask(std::move(request), limits::skill_bundle_bytes_max, [done = std::move(done)](Result<Fetched> got) mutable {
    if (!got) return done(std::move(got.error()).in("write the files back"));
    if (is_fine(got.value().status)) return done(kept_in(got.value().body));
    done(Error{ErrorKind::denied, "the workspace refused the files" + words_of(got.value())});
  });
}

void WorkspaceSupplies::ask(net::ClientRequest request, std::size_t bytes_max, Fetch::Done done) {
  if (closed_) return;
  request.idle_ms_max = idle_ms_max;
  request.total_ms_max = total_ms_max;
  const auto number = asked_++;
  under_way_[number] =
      std::make_unique<Fetch>(client_, std::move(request), bytes_max, Patience{loop_, workspace_.patience},
                              [this, number, done = std::move(done)](Result<Fetched> got) mutable {
                                // The callback may destroy this object.
                                const auto self = shared_from_this();
                                auto callback = std::move(done);
                                under_way_.erase(number);
                                callback(std::move(got));
                              });
}

void WorkspaceSupplies::close() {
  closed_ = true;
  under_way_.clear();
}

}  // namespace sluice::station
