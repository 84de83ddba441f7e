#include "tests/sim/server.h"

namespace sluice::sim {

void TraceLog::write(world::LogLevel, std::string_view event, std::initializer_list<world::LogField> fields) {
  std::string line = who_ + " log: " + std::string(event);
  for (const auto& field : fields) {
    line.append(" ").append(field.name).append("=");
    if (const auto* text = std::get_if<std::string_view>(&field.value)) line += *text;
    if (const auto* number = std::get_if<int64_t>(&field.value)) line += std::to_string(*number);
  }
  verdict_.note(line);
}

Server::Server(Needs needs, std::string name, uint64_t seed, engine::EngineOptions options)
    : needs_(needs),
      name_(std::move(name)),
      loop_(needs.loop),
      link_(needs.loop, loop_, Chance(seed ^ 0x5bd1e995)),
      entropy_(seed),
      ids_(loop_, entropy_),
      log_(needs.verdict, name_),
      node_(ids_.make<model::NodeId>()),
      dispatcher_(needs.fleet, loop_, node_, name_.substr(0, 1)),
      options_(std::move(options)) {}

Server::~Server() {
  die();
  bury();
}

void Server::start() {
  needs_.verdict.note(name_ + " starts as " + node_.text());
  store_ = std::make_unique<store::SimulatedStore>(needs_.disk, link_, node_);
  engine_ = engine::make_engine({*store_, dispatcher_, loop_, ids_, log_, metrics_, needs_.sealer}, options_);
  engine_->recover([this](Result<Unit> recovered) {
    needs_.verdict.note(name_ + (recovered ? " is ready" : " cannot recover: " + recovered.error().what));
    if (recovered) ready_ = true;
    if (!recovered) die();
  });
}

void Server::die() {
  if (is_dead()) return;
  loop_.die();
  needs_.verdict.note(name_ + " is dead");
  needs_.fleet.lose_server(node_);
}

void Server::bury() {
  engine_.reset();
  store_.reset();
}

}  // namespace sluice::sim
