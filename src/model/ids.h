// The kinds of things that have names.
#pragma once

#include "base/ids.h"

namespace sluice::model {

struct TenantKind {
  static constexpr std::string_view prefix = "tnt_";
};
struct ServiceKeyKind {
  static constexpr std::string_view prefix = "key_";
};
struct ApproverKeyKind {
  static constexpr std::string_view prefix = "apk_";
};
struct AgentKind {
  static constexpr std::string_view prefix = "agt_";
};
struct ConversationKind {
  static constexpr std::string_view prefix = "con_";
};
struct MessageKind {
  static constexpr std::string_view prefix = "msg_";
};
struct RunKind {
  static constexpr std::string_view prefix = "run_";
};
struct RequestKind {
  static constexpr std::string_view prefix = "req_";
};

using TenantId = Id<TenantKind>;
using ServiceKeyId = Id<ServiceKeyKind>;
using ApproverKeyId = Id<ApproverKeyKind>;
using AgentId = Id<AgentKind>;
using ConversationId = Id<ConversationKind>;
using MessageId = Id<MessageKind>;
using RunId = Id<RunKind>;
using RequestId = Id<RequestKind>;

}  // namespace sluice::model
