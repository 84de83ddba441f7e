#include "engine/postbox.h"

namespace sluice::engine {

Postbox::Postbox(Host& host, store::Nodes& nodes, world::Loop& loop, world::IdSource& ids)
    : host_(host), nodes_(nodes), loop_(loop), ids_(ids), self_(std::make_shared<Postbox*>(this)) {}

Postbox::~Postbox() { *self_ = nullptr; }

// ── what it asks ────────────────────────────────────────────────────────────────────────────────

void Postbox::ask(store::Mail mail, Millis patience, Answered done) {
  const auto id = mail.id = ids_.make<model::MailId>();
  auto& asked = asked_[id];
  asked.done = std::move(done);
  asked.patience = loop_.after(patience, [this, id] {
    nodes_.withdraw(id, [](const Result<Unit>&) {});
    settle(id, Error{ErrorKind::unavailable, "no answer came in time"});
  });
  nodes_.post(std::move(mail), while_alive([this, id](const Result<Unit>& posted) {
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
  nodes_.answers(while_alive([this](Result<std::vector<store::MailAnswer>> answers) {
    fetching_ = false;
    if (!answers) return;
    const auto self = self_;
    for (auto& answer : answers.value()) {
      if (*self != nullptr) settle(answer.id, std::move(answer.body));
    }
  }));
}

// ── what it is asked ────────────────────────────────────────────────────────────────────────────

void Postbox::look() {
  look_for_answers();
  looks_again_ = looking_;
  if (std::exchange(looking_, true)) return;
  nodes_.inbox(while_alive([this, look = ++looks_](const Result<std::vector<store::Mail>>& mails) {
    const auto self = self_;
    looking_ = false;
    on_inbox(look, mails);
    if (*self != nullptr && std::exchange(looks_again_, false)) this->look();
  }));
}

void Postbox::on_inbox(uint64_t look, const Result<std::vector<store::Mail>>& mails) {
  if (!mails) return;
  const auto self = self_;
  for (const auto& mail : mails.value()) {
    if (*self != nullptr) receive(mail);
  }
  if (*self == nullptr) return;
  // A list that was asked for before the answer was written may still have shown the letter.
  std::erase_if(received_,
                [&](const auto& entry) { return entry.second.settled_at && *entry.second.settled_at < look; });
}

void Postbox::receive(const store::Mail& mail) {
  const auto [found, fresh] = received_.try_emplace(mail.id);
  if (!fresh) {
    if (found->second.reply && !found->second.settled_at) write_reply(mail.id);
    return;
  }
  host_.on_mail(mail, while_alive([this, id = mail.id](std::optional<std::string> reply) {
                  if (!reply) return void(received_.erase(id));
                  received_[id].reply = std::move(reply);
                  write_reply(id);
                }));
}

void Postbox::write_reply(model::MailId id) {
  auto& received = received_.at(id);
  if (std::exchange(received.writing, true)) return;
  nodes_.answer(id, *received.reply, while_alive([this, id](const Result<Unit>& answered) {
                  auto& known = received_.at(id);
                  known.writing = false;
                  const bool nobody_waits = !answered && answered.error().kind == ErrorKind::not_found;
                  if (answered || nobody_waits) known.settled_at = looks_;
                }));
}

}  // namespace sluice::engine
