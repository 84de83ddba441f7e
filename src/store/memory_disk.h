// What outlives a MemoryStore: its rows, and the misfortunes that are ordered for them.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/memory_watch.h"
#include "store/store.h"

namespace sluice::store {

class MemoryNodes;

class MemoryDisk {
 public:
  // The n-th write from now fails; 0 is the next one. Refused writes count too.
  void fail_write(int n, Fault fault) { faults_[write_count_ + n] = fault; }
  // The next `count` times that a list of unfinished runs is asked for it is `overloaded`.
  void refuse_lists(int count) { refused_lists_ = count; }
  // Writes that were asked for so far, by every store on this disk.
  int write_count() const { return write_count_; }
  // A slow disk: what is written is written at once, but nobody is told until answers are let go.
  void hold_answers(bool held);
  // What one node does is not told to the others: they must look.
  void lose_news(bool lost) { loses_news_ = lost; }
  // Sees every write, and says what becomes of it.
  void be_watched(MemoryWatch* watch) { watch_ = watch; }

 private:
  friend class MemoryStore;
  friend class MemoryDesk;
  friend class MemoryBags;
  friend class MemoryEndpoints;
  friend class MemoryNodes;
  friend class MemoryTables;
  friend class MemoryWorkflows;

  // Rows in the order they were made, found by id.
  template <typename AnyId, typename Row>
  class Table {
   public:
    Row* find(AnyId id) {
      const auto found = numbers_.find(id);
      return found == numbers_.end() ? nullptr : &rows_.at(found->second);
    }
    // False when there is such a row already.
    bool add(AnyId id, Row row) {
      if (!numbers_.emplace(id, next_).second) return false;
      rows_.emplace(next_++, std::move(row));
      return true;
    }
    void remove(AnyId id) {
      rows_.erase(numbers_.at(id));
      numbers_.erase(id);
    }
    auto begin() { return rows_.begin(); }
    auto end() { return rows_.end(); }

   private:
    uint64_t next_ = 1;
    std::map<uint64_t, Row> rows_;
    std::unordered_map<AnyId, uint64_t> numbers_;
  };

  struct ConversationRow {
    model::Conversation conversation;
    std::optional<model::RunId> flight;  // the run that is not over
    std::vector<model::MessageId> messages;
  };
  struct MessageRow {
    model::Message message;
    std::optional<model::RunId> run;  // that produces it
    bool is_replaced = false;
  };
  struct RunRow {
    model::Run run;
    std::vector<model::RunEvent> events;
    bool sealed = false;
  };
  struct KeptKey {
    std::string request_sha256;
    std::optional<model::RunId> run;
    std::string response_body;
    Timestamp at;
  };
  struct HeldAnswer {
    world::Loop* loop;
    Callback<void()> answer;
  };
  struct TokenRow {
    model::OneTimeToken token;
    model::ExecutionId execution;
    bool redeemed = false;
  };
  struct NoticeRow {
    model::Notice notice;
    Timestamp due_at;
    int attempts = 0;
  };
  struct SecretRow {
    int64_t number = 0;
    model::SealedSecret secret;
  };
  struct TableRows {
    model::Table table;
    std::vector<model::TableRow> rows;
  };
  struct WorkflowRunRow {
    model::WorkflowRun run;
    std::vector<std::string> bodies;
  };
  struct NodeRow {
    Timestamp started_at;
    int64_t beat_us = 0;
    NodeFigures figures;
  };
  struct MailRow {
    Mail mail;
    std::optional<std::string> answer;
  };
  using SecretName = std::tuple<model::SecretScope, Ulid, std::string>;
  using KeyName = std::tuple<model::ServiceKeyId, std::string, std::string>;

  Table<model::TenantId, model::Tenant> tenants_;
  Table<model::ServiceKeyId, model::ServiceKey> service_keys_;
  Table<model::ApproverKeyId, model::ApproverKey> approver_keys_;
  Table<model::AgentId, model::Agent> agents_;
  Table<model::ConversationId, ConversationRow> conversations_;
  Table<model::MessageId, MessageRow> messages_;
  Table<model::RunId, RunRow> runs_;
  std::map<KeyName, KeptKey> kept_keys_;
  Table<model::RepositoryId, model::Repository> repositories_;
  Table<model::SkillId, model::Skill> skills_;
  Table<model::EnvironmentId, model::Environment> environments_;
  Table<model::ExecutionId, model::Execution> executions_;
  std::map<std::string, model::ExecutionId> bearers_;  // by their hash
  std::map<std::string, TokenRow> tokens_;             // by their hash
  Table<model::FileId, model::RunFile> files_;
  Table<model::FileId, model::BagFile> bag_files_;
  Table<model::ApprovalId, model::Approval> approvals_;
  std::map<SecretName, SecretRow> secrets_;
  int64_t secret_count_ = 0;  // that were ever made
  std::vector<model::AuditEntry> audit_;
  Table<model::NoticeId, NoticeRow> notices_;
  Table<model::ModelEndpointId, model::ModelEndpoint> endpoints_;
  Table<model::TableId, TableRows> tables_;
  Table<model::WorkflowId, model::Workflow> workflows_;
  Table<model::WorkflowRunId, WorkflowRunRow> workflow_runs_;
  std::vector<AguiRun> agui_runs_;  // a thread is what the runs of its name have in common

  std::map<model::NodeId, NodeRow> nodes_;
  std::map<std::string, std::string> agreed_;
  std::vector<MailRow> mails_;  // oldest first
  std::vector<MemoryNodes*> listeners_;
  bool loses_news_ = false;
  MemoryWatch* watch_ = nullptr;

  int refused_lists_ = 0;
  int write_count_ = 0;
  std::map<int, Fault> faults_;  // by the count of the write that fails
  bool held_ = false;
  std::vector<HeldAnswer> held_answers_;
};

}  // namespace sluice::store
