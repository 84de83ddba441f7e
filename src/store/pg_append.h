// Appends of a group, and takeovers, as statements that each do all of them.
//
// The fence is inside: a row of `heads` moves only if epoch and head are what the writer thinks they are, and only what
// moved it is written. PostgreSQL looks again at a row that somebody else was just moving, so of two writers one wins.
#pragma once

#include <vector>

#include "store/pg_group.h"

namespace sluice::store {

class PgAppends {
 public:
  void add(AppendJob& job);
  bool empty() const { return flow_.empty() && boundary_.empty(); }
  void send(PgSession& session) const;
  void take(PgAnswers& answers) const;

 private:
  std::vector<AppendJob*> flow_;      // events only
  std::vector<AppendJob*> boundary_;  // with a state or a message
};

// Has nobody else move these runs before the transaction ends; says why a job is refused.
void send_locks(PgSession& session, const std::vector<AppendJob*>& jobs);
void take_locks(PgAnswers& answers, const std::vector<AppendJob*>& jobs);

// Why those that were not written were not; after the commit.
void explain_refusals(PgSession& session, const std::vector<AppendJob*>& jobs);

void send_takeovers(PgSession& session, const std::vector<TakeOverJob*>& jobs, model::NodeId node);
void take_takeovers(PgAnswers& answers, const std::vector<TakeOverJob*>& jobs);

}  // namespace sluice::store
