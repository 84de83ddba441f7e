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
struct ConversationIdKind {  // ConversationKind is what a conversation is for
  static constexpr std::string_view prefix = "con_";
};
struct MessageKind {
  static constexpr std::string_view prefix = "msg_";
};
struct RunKind {
  static constexpr std::string_view prefix = "run_";
};
struct WorkspaceKind {
  static constexpr std::string_view prefix = "wsp_";
};
struct RepositoryKind {
  static constexpr std::string_view prefix = "rep_";
};
struct SkillKind {
  static constexpr std::string_view prefix = "skl_";
};
struct EnvironmentKind {
  static constexpr std::string_view prefix = "env_";
};
struct FileKind {
  static constexpr std::string_view prefix = "fil_";
};
struct ExecutionKind {
  static constexpr std::string_view prefix = "exe_";
};
struct ApprovalKind {
  static constexpr std::string_view prefix = "apr_";
};
struct NoticeKind {
  static constexpr std::string_view prefix = "ntc_";
};
struct TableKind {
  static constexpr std::string_view prefix = "tbl_";
};
struct TableRowKind {
  static constexpr std::string_view prefix = "row_";
};
struct ModelEndpointKind {
  static constexpr std::string_view prefix = "mep_";
};
struct WorkflowKind {
  static constexpr std::string_view prefix = "wfl_";
};
struct WorkflowRunKind {
  static constexpr std::string_view prefix = "wfr_";
};
struct NodeKind {
  static constexpr std::string_view prefix = "nod_";
};
struct MailKind {
  static constexpr std::string_view prefix = "mail_";
};
struct RequestKind {
  static constexpr std::string_view prefix = "req_";
};

using TenantId = Id<TenantKind>;
using ServiceKeyId = Id<ServiceKeyKind>;
using ApproverKeyId = Id<ApproverKeyKind>;
using AgentId = Id<AgentKind>;
using ConversationId = Id<ConversationIdKind>;
using MessageId = Id<MessageKind>;
using RunId = Id<RunKind>;
using WorkspaceId = Id<WorkspaceKind>;  // a tenant's only one: the same number
using RepositoryId = Id<RepositoryKind>;
using SkillId = Id<SkillKind>;
using EnvironmentId = Id<EnvironmentKind>;
using FileId = Id<FileKind>;
using ExecutionId = Id<ExecutionKind>;
using ApprovalId = Id<ApprovalKind>;
using NoticeId = Id<NoticeKind>;
using TableId = Id<TableKind>;
using TableRowId = Id<TableRowKind>;
using ModelEndpointId = Id<ModelEndpointKind>;
using WorkflowId = Id<WorkflowKind>;
using WorkflowRunId = Id<WorkflowRunKind>;
using NodeId = Id<NodeKind>;
using MailId = Id<MailKind>;
using RequestId = Id<RequestKind>;

}  // namespace sluice::model
