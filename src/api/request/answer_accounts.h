// Counts the unread bytes of each tenant's answers over all its connections: clients of one tenant that do not read
// must not use the memory of the others. An account exists as long as a connection is charged to it.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "model/ids.h"
#include "net/net.h"

namespace sluice::api {

class AnswerAccounts final {
 public:
  std::shared_ptr<net::AnswerAccount> of(model::TenantId tenant) {
    auto& known = (*accounts_)[tenant];
    if (auto account = known.lock()) return account;
    const auto forget = [tenant, all = std::weak_ptr(accounts_)](net::AnswerAccount* account) {
      if (const auto accounts = all.lock()) accounts->erase(tenant);
      delete account;
    };
    std::shared_ptr<net::AnswerAccount> account(new net::AnswerAccount, forget);
    known = account;
    return account;
  }
  std::size_t count() const { return accounts_->size(); }

 private:
  using Accounts = std::map<model::TenantId, std::weak_ptr<net::AnswerAccount>>;
  std::shared_ptr<Accounts> accounts_ = std::make_shared<Accounts>();  // a connection may outlive the API for a turn
};

}  // namespace sluice::api
