#include "app/storeroom.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "vault/vault.h"

namespace sluice::app {
namespace {

class HouseSupplies final : public harness::Supplies, public std::enable_shared_from_this<HouseSupplies> {
 public:
  HouseSupplies(StoreroomNeeds needs, std::shared_ptr<const std::vector<skills::BuiltinSkill>> builtin_skills,
                const model::Run& run)
      : needs_(needs), builtin_skills_(std::move(builtin_skills)), run_(run.id), tenant_(run.tenant_id) {}

  void skill_bundle(const harness::SkillUse& skill, Callback<void(Result<std::string>)> done) override {
    const auto builtin = std::ranges::find(*builtin_skills_, skill.id, &skills::BuiltinSkill::id);
    if (builtin != builtin_skills_->end()) {
      const auto bundle = std::make_shared<Result<std::string>>(builtin->bundle);
      return needs_.loop.defer(answer(std::move(done), bundle));
    }
    const auto bytes = std::make_shared<Result<std::string>>(Error{});
    workers().run([this, bytes, sha256 = skill.sha256] { *bytes = needs_.contents.get(sha256); },
                  answer(std::move(done), bytes));
  }

  void file(const harness::FileUse& file, Callback<void(Result<std::string>)> done) override {
    const auto bytes = std::make_shared<Result<std::string>>(Error{});
    workers().run([this, bytes, sha256 = file.sha256] { *bytes = needs_.contents.get(sha256); },
                  answer(std::move(done), bytes));
  }

  bool wants_assets() const override { return true; }

  void take_assets(std::vector<harness::Asset> assets, std::string,
                   Callback<void(Result<std::vector<harness::KeptAsset>>)> done) override {
    const auto kept = std::make_shared<Result<std::vector<model::RunFile>>>(Error{});
    workers().run([this, kept, assets = std::move(assets)] { *kept = keep(assets); },
                  [weak = weak_from_this(), kept, done = std::move(done)]() mutable {
                    const auto self = weak.lock();
                    if (!self) return;
                    if (!*kept) return done(self->for_tenants(kept->error()));
                    self->record(std::move(*kept).take(), std::move(done));
                  });
  }

 private:
  world::Workers& workers() const { return needs_.workers.of(tenant_.ulid); }

  using Taken = Callback<void(Result<std::vector<harness::KeptAsset>>)>;

  // On the loop's thread, unless whoever asked has gone.
  template <typename T>
  Callback<void()> answer(Callback<void(Result<T>)> done, std::shared_ptr<Result<T>> result) {
    return [weak = weak_from_this(), result = std::move(result), done = std::move(done)]() mutable {
      const auto self = weak.lock();
      if (!self) return;
      if (!*result) return done(self->for_tenants(result->error()));
      done(std::move(*result));
    };
  }

  // Where the server keeps things is no business of a tenant's; it is in the log.
  Error for_tenants(const Error& error) const {
    needs_.log.write(world::LogLevel::error, "contents failed", {{"run", run_.text()}, {"why", error.what}});
    return {error.kind, error.kind == ErrorKind::overloaded ? "the server's disk is full"
                                                            : "the server cannot read or keep its contents"};
  }

  // On a worker's thread.
  Result<std::vector<model::RunFile>> keep(const std::vector<harness::Asset>& assets) const {
    std::vector<model::RunFile> files;
    for (const auto& asset : assets) {
      auto sha256 = needs_.contents.put(asset.bytes);
      if (!sha256) return std::move(sha256.error()).in("keep " + asset.name);
      files.push_back({.tenant_id = tenant_,
                       .run_id = run_,
                       .name = asset.name,
                       .size_bytes = static_cast<int64_t>(asset.bytes.size()),
                       .sha256 = std::move(sha256).take()});
    }
    return files;
  }

  void record(std::vector<model::RunFile> files, Taken done) {
    std::vector<harness::KeptAsset> kept;
    for (auto& file : files) {
      file.id = needs_.ids.make<model::FileId>();
      file.created_at = needs_.loop.now();
      kept.push_back({file.id.text(), file.name, file.size_bytes, file.sha256});
    }
    needs_.store.create_files(std::move(files), [weak = weak_from_this(), kept = std::move(kept),
                                                 done = std::move(done)](const Result<Unit>& made) mutable {
      if (!weak.lock()) return;
      if (!made) return done(made.error());
      done(std::move(kept));
    });
  }

  StoreroomNeeds needs_;
  std::shared_ptr<const std::vector<skills::BuiltinSkill>> builtin_skills_;
  model::RunId run_;
  model::TenantId tenant_;
};

}  // namespace

std::shared_ptr<harness::Supplies> HouseStoreroom::supplies_for(const model::Run& run) {
  return std::make_shared<HouseSupplies>(needs_, builtin_skills_, run);
}

harness::WorkspaceAccess HouseStoreroom::workspace_for(const model::Run& run, model::WorkspaceUse use) {
  return {options_.server_url + "/api/workspaces/" + model::WorkspaceId{run.tenant_id.ulid}.text(),
          vault::bearer_of(options_.run_bearer_root, {run.tenant_id, run.id, use}), use};
}

std::optional<harness::SkillUse> HouseStoreroom::builtin_skill(std::string_view name) {
  const auto found = std::ranges::find(*builtin_skills_, name, &skills::BuiltinSkill::name);
  if (found == builtin_skills_->end()) return std::nullopt;
  return harness::SkillUse{found->id(), found->name, found->description, found->sha256};
}

}  // namespace sluice::app
