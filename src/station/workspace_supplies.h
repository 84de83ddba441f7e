// Where a dispatch gets its skills and leaves its files when a workspace elsewhere has them (S-4). The
// bearer and the upload token stay here: nothing of them enters a box.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dispatch/dispatch.h"
#include "http/multipart.h"
#include "net/net.h"
#include "station/fetch.h"
#include "world/world.h"

namespace sluice::station {

struct Workspace {
  std::string agent_url;
  std::string files_url;  // of the zip; empty: there are none
  std::string bearer;
  std::optional<std::string> otp_upload;
  Millis patience{0};  // with a workspace that cannot be reached
};

class WorkspaceSupplies final : public dispatch::Supplies, public std::enable_shared_from_this<WorkspaceSupplies> {
 public:
  WorkspaceSupplies(net::Client& client, world::Loop& loop, world::IdSource& ids, Workspace workspace)
      : client_(client), loop_(loop), ids_(ids), workspace_(std::move(workspace)) {}

  void skill_bundle(const dispatch::SkillUse& skill, Callback<void(Result<std::string>)> done) override;
  void file(const dispatch::FileUse& file, Callback<void(Result<std::string>)> done) override;
  bool wants_assets() const override { return workspace_.otp_upload.has_value(); }
  // Nothing is sent where there is nothing: the upload token stays unused.
  void take_assets(std::vector<dispatch::Asset> assets, std::string result,
                   Callback<void(Result<std::vector<dispatch::KeptAsset>>)> done) override;

  // Drops what is under way and answers nothing any more (S-10).
  void close();

 private:
  void ask(net::ClientRequest request, std::size_t bytes_max, Fetch::Done done);

  net::Client& client_;
  world::Loop& loop_;
  world::IdSource& ids_;
  Workspace workspace_;
  bool closed_ = false;
  std::string zip_;  // once it was asked for
  uint64_t asked_ = 0;
  std::map<uint64_t, std::unique_ptr<Fetch>> under_way_;
};

// The form that returns a run to its caller: a part `files` for each asset, then a part `result`: {"message": …}.
http::Multipart multipart_of(const std::vector<dispatch::Asset>& assets, std::string_view result, std::string boundary);

}  // namespace sluice::station
