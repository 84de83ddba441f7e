#include "app/materials.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "vault/vault.h"

namespace sluice::app {
namespace {

constexpr Millis keep_again{500};

bool is_transient(const Error& why) { return why.kind == ErrorKind::overloaded || why.kind == ErrorKind::unavailable; }

class RunSupplies final : public dispatch::Supplies, public std::enable_shared_from_this<RunSupplies> {
 public:
  RunSupplies(RunMaterialsNeeds needs, std::shared_ptr<const std::vector<skills::BuiltinSkill>> builtin_skills,
              const model::Run& run, int64_t answer_ms_max)
      : needs_(needs),
        builtin_skills_(std::move(builtin_skills)),
        run_(run.id),
        tenant_(run.tenant_id),
        answer_ms_max_(answer_ms_max) {}

  ~RunSupplies() override {
    for (auto& [number, pending] : pending_) pending.stop.request_stop();
  }

  void skill_bundle(const dispatch::SkillUse& skill, Callback<void(Result<std::string>)> done) override {
    const auto builtin = std::ranges::find(*builtin_skills_, skill.id, &skills::BuiltinSkill::id);
    if (builtin == builtin_skills_->end()) return read(skill.sha256, std::move(done));
    needs_.loop.defer([weak = weak_from_this(), bundle = builtin->bundle, done = std::move(done)]() mutable {
      if (weak.lock()) done(std::move(bundle));
    });
  }

  void file(const dispatch::FileUse& file, Callback<void(Result<std::string>)> done) override {
    read(file.sha256, std::move(done));
  }

  bool wants_assets() const override { return true; }

  void take_assets(std::vector<dispatch::Asset> assets, std::string,
                   Callback<void(Result<std::vector<dispatch::KeptAsset>>)> done) override {
    put(std::make_shared<const std::vector<dispatch::Asset>>(std::move(assets)), ask("keeping them", std::move(done)));
  }

 private:
  // A request to the disk or the store, which is waited for until its deadline.
  struct Pending {
    world::Timer deadline;
    world::Timer again;
    bool is_repeated = false;
    std::stop_source stop;
  };
  template <typename T>
  struct Question {
    uint64_t number = 0;
    std::stop_token stop;
    std::shared_ptr<Callback<void(Result<T>)>> done;  // shared with the deadline
  };
  using KeepQuestion = Question<std::vector<dispatch::KeptAsset>>;

  template <typename T>
  Question<T> ask(std::string what, Callback<void(Result<T>)> done) {
    const auto number = ++last_number_;
    auto& pending = pending_[number];
    Question<T> question{number, pending.stop.get_token(),
                         std::make_shared<Callback<void(Result<T>)>>(std::move(done))};
    pending.deadline = needs_.loop.after({answer_ms_max_}, [this, question, what = std::move(what)] {
      Error late{ErrorKind::unavailable, what + " took longer than " + std::to_string(answer_ms_max_ / 1000) + " s"};
      log(late);
      pending_.at(question.number).stop.request_stop();
      answer(question, std::move(late));
    });
    return question;
  }

  // Ignores a result that comes after the deadline. The question is passed by value because the deadline timer, which
  // may be the caller and own it, is destroyed here.
  template <typename T>
  void answer(Question<T> question,  // NOLINT(performance-unnecessary-value-param)
              std::type_identity_t<Result<T>> result) {
    if (pending_.erase(question.number) > 0) (*question.done)(std::move(result));
  }

  void read(const std::string& sha256, Callback<void(Result<std::string>)> done) {
    const auto question = ask("reading it", std::move(done));
    const auto bytes = std::make_shared<Result<std::string>>(Error{});
    workers().run([&contents = needs_.contents, bytes, sha256] { *bytes = contents.get(sha256); },
                  [weak = weak_from_this(), bytes, question] {
                    const auto self = weak.lock();
                    if (!self || question.stop.stop_requested()) return;
                    self->answer(question, *bytes ? std::move(*bytes) : self->without_details(bytes->error()));
                  });
  }

  world::Workers& workers() const { return needs_.workers.of(tenant_.ulid); }

  // Tenants must not learn where the server keeps its files, so the details go to the log only.
  Error without_details(const Error& error) const {
    log(error);
    return {error.kind, error.kind == ErrorKind::overloaded ? "the server's disk is full"
                                                            : "the server cannot read or keep its contents"};
  }

  void log(const Error& error) const {
    needs_.log.write(world::LogLevel::error, "contents failed", {{"run", run_.text()}, {"why", error.what}});
  }

  // Retries a transient failure until the deadline, because the finished work of the run would otherwise be lost.
  void try_again(const KeepQuestion& question, const Error& why, Callback<void()> again) {
    const auto found = pending_.find(question.number);
    if (found == pending_.end()) return;
    if (!std::exchange(found->second.is_repeated, true)) {
      needs_.log.write(world::LogLevel::warn, "files cannot be kept; trying again",
                       {{"run", run_.text()}, {"why", why.what}});
    }
    found->second.again = needs_.loop.after(keep_again, std::move(again));
  }

  void put(std::shared_ptr<const std::vector<dispatch::Asset>> assets, KeepQuestion question) {
    const auto kept = std::make_shared<Result<std::vector<model::RunFile>>>(Error{});
    auto work = [&contents = needs_.contents, stop = question.stop, run = run_, tenant = tenant_, kept, assets] {
      *kept = keep(contents, *assets, run, tenant, stop);
    };
    workers().run(std::move(work), [weak = weak_from_this(), kept, assets, question] {
      const auto self = weak.lock();
      if (!self || question.stop.stop_requested()) return;
      if (*kept) return self->record(std::move(*kept).take(), question);
      const auto& why = kept->error();
      if (!is_transient(why)) return self->answer(question, self->without_details(why));
      self->try_again(question, why, [here = self.get(), assets, question] { here->put(assets, question); });
    });
  }

  // Runs on a worker's thread and may outlive this object.
  static Result<std::vector<model::RunFile>> keep(files::Contents& contents, const std::vector<dispatch::Asset>& assets,
                                                  model::RunId run, model::TenantId tenant,
                                                  const std::stop_token& stop) {
    std::vector<model::RunFile> files;
    for (const auto& asset : assets) {
      if (stop.stop_requested()) return Error{ErrorKind::unavailable, "the run no longer needs them"};
      auto sha256 = contents.put(asset.bytes);
      if (!sha256) return std::move(sha256.error()).in("keep " + asset.name);
      files.push_back({.tenant_id = tenant,
                       .run_id = run,
                       .name = asset.name,
                       .size_bytes = static_cast<int64_t>(asset.bytes.size()),
                       .sha256 = std::move(sha256).take()});
    }
    return files;
  }

  void record(std::vector<model::RunFile> files, const KeepQuestion& question) {
    for (auto& file : files) {
      file.id = needs_.ids.make<model::FileId>();
      file.created_at = needs_.loop.now();
    }
    create(std::make_shared<const std::vector<model::RunFile>>(std::move(files)), question);
  }

  // Every attempt uses the same ids, so it is harmless if an earlier attempt succeeded after all.
  void create(std::shared_ptr<const std::vector<model::RunFile>> files, KeepQuestion question) {
    auto created = [weak = weak_from_this(), files, question](const Result<Unit>& made) {
      const auto self = weak.lock();
      if (!self) return;
      if (made) return self->answer(question, kept_assets(*files));
      const auto& why = made.error();
      if (!is_transient(why)) return self->answer(question, self->without_details(why));
      self->try_again(question, why, [here = self.get(), files, question] { here->create(files, question); });
    };
    store::create_files(needs_.store.database(), *files, std::move(created));
  }

  static std::vector<dispatch::KeptAsset> kept_assets(const std::vector<model::RunFile>& files) {
    std::vector<dispatch::KeptAsset> kept;
    for (const auto& file : files) kept.push_back({file.id.text(), file.name, file.size_bytes, file.sha256});
    return kept;
  }

  RunMaterialsNeeds needs_;
  std::shared_ptr<const std::vector<skills::BuiltinSkill>> builtin_skills_;
  model::RunId run_;
  model::TenantId tenant_;
  const int64_t answer_ms_max_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, Pending> pending_;
};

}  // namespace

std::shared_ptr<dispatch::Supplies> RunMaterials::supplies_for(const model::Run& run) {
  return std::make_shared<RunSupplies>(needs_, builtin_skills_, run, options_.answer_ms_max);
}

dispatch::WorkspaceAccess RunMaterials::workspace_for(const model::Run& run, model::WorkspaceUse use) {
  return {options_.server_url + "/api/workspaces/" + model::WorkspaceId{run.tenant_id.ulid}.text(),
          vault::bearer_of(options_.run_bearer_root, {run.tenant_id, run.id, use}), use};
}

std::optional<dispatch::SkillUse> RunMaterials::builtin_skill(std::string_view name) {
  const auto found = std::ranges::find(*builtin_skills_, name, &skills::BuiltinSkill::name);
  if (found == builtin_skills_->end()) return std::nullopt;
  return dispatch::SkillUse{found->id(), found->name, found->description, found->sha256};
}

}  // namespace sluice::app
