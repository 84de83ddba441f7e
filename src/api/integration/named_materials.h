// Whether what a request names is there: checked before anything comes into being, so that the
// caller learns which name is wrong and not that a run failed.
#pragma once

#include <string>
#include <vector>

#include "api/request_context.h"

namespace sluice::api::integration {

struct MessageInput;

// What is named, and by which members.
struct Named {
  store::MaterialNames names;
  std::string at;  // the JSON pointer of the object that names it
  std::string_view environment_member = "env";

  bool empty() const { return !names.repository && names.skills.empty() && !names.environment; }
};
Named named_by(const MessageInput& input, std::string at);

// Goes on with what there is. Asks the store only when something is named. When one of them is
// missing the caller is told, and `then` is not called.
void find_materials(const Asked& asked, Named named, Callback<void(store::FoundMaterials)> then);
// The same for several objects at once, when only their being there matters. `then` gets the problem, if there is one:
// a call that is a replay is answered all the same.
void check_materials(const Asked& asked, std::vector<Named> named, Callback<void(std::optional<model::Problem>)> then);

}  // namespace sluice::api::integration
