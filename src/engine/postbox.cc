#include "engine/postbox.h"

#include "base/check.h"
#include "engine/mail_words.h"
#include "engine/problems.h"

namespace sluice::engine {

// ── requests of this node ────────────────────────────────────────────────────────────────────────────────

void Postbox::ask(journal::Mail mail, Millis patience, Answered done) {
  const auto id = mail.id = ids_.make<model::MailId>();
  const auto [entry, is_fresh] = asked_.try_emplace(id);
  SLUICE_CHECK(is_fresh);
  auto& asked = entry->second;
  asked.done = std::move(done);
  asked.patience = loop_.after(patience, [this, id] {
    nodes_.withdraw(id, [](const Result<Unit>&) {});
    settle(id, Error{ErrorKind::unavailable, "no answer came in time"});
  });
  nodes_.post(std::move(mail), lifetime_.guard([this, id](const Result<Unit>& posted) {
    if (!posted) settle(id, Error{ErrorKind::overloaded, posted.error().what});
  }));
}

void Postbox::settle(model::MailId id, Result<std::string> answer) {
  const auto found = asked_.find(id);
  if (found == asked_.end()) return;
  auto asked = std::move(found->second);
  asked_.erase(found);
  asked.patience.cancel();
  if (asked.done) asked.done(std::move(answer));
}

void Postbox::look_for_answers() {
  if (asked_.empty() || std::exchange(fetching_, true)) return;
  nodes_.answers(lifetime_.guard([this](Result<std::vector<journal::MailAnswer>> answers) {
    SLUICE_CHECK(fetching_);
    fetching_ = false;
    if (!answers) return;
    const auto watch = lifetime_.watch();
    for (auto& answer : answers.value()) {
      if (!watch.is_over()) settle(answer.id, std::move(answer.body));
    }
  }));
}

// ── requests of others ────────────────────────────────────────────────────────────────────────────

void Postbox::look() {
  look_for_answers();
  looks_again_ = looking_;
  if (std::exchange(looking_, true)) return;
  nodes_.inbox(lifetime_.guard([this, look = ++looks_](const Result<std::vector<journal::Mail>>& mails) {
    SLUICE_CHECK(looking_);
    const auto watch = lifetime_.watch();
    looking_ = false;
    on_inbox(look, mails);
    if (!watch.is_over() && std::exchange(looks_again_, false)) this->look();
  }));
}

void Postbox::on_inbox(uint64_t look, const Result<std::vector<journal::Mail>>& mails) {
  if (!mails) return;
  const auto watch = lifetime_.watch();
  for (const auto& mail : mails.value()) {
    if (!watch.is_over()) receive(mail);
  }
  if (watch.is_over()) return;
  // A list that was asked for before the answer was written may still have shown the letter.
  std::erase_if(received_,
                [&](const auto& entry) { return entry.second.settled_at && *entry.second.settled_at < look; });
}

void Postbox::receive(const journal::Mail& mail) {
  const auto [found, fresh] = received_.try_emplace(mail.id);
  if (!fresh) {
    if (found->second.reply && !found->second.settled_at) write_reply(mail.id);
    return;
  }
  handle(mail, lifetime_.guard([this, id = mail.id](std::optional<std::string> reply) {
    if (!reply) return void(received_.erase(id));
    received_[id].reply = std::move(reply);
    write_reply(id);
  }));
}

void Postbox::handle(const journal::Mail& mail, Reply reply) {
  const auto handler = handlers_.find(mail.kind);
  if (handler != handlers_.end()) return handler->second(mail, std::move(reply));
  // Of a later version: the node that asks does without.
  reply(mail::problem_answer(problem_of(model::Slug::unavailable, "This server does not know what it is asked.")));
}

void Postbox::write_reply(model::MailId id) {
  auto& received = received_.at(id);
  SLUICE_CHECK(received.reply.has_value());
  if (std::exchange(received.writing, true)) return;
  nodes_.answer(id, *received.reply, lifetime_.guard([this, id](const Result<Unit>& answered) {
    auto& known = received_.at(id);
    known.writing = false;
    const bool is_withdrawn = !answered && answered.error().kind == ErrorKind::not_found;
    if (answered || is_withdrawn) known.settled_at = looks_;
  }));
}

}  // namespace sluice::engine
