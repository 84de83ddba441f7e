// Whoever watches a MemoryDisk, and decides the misfortunes of each server that uses it: for simulations.
#pragma once

#include <cstdint>
#include <optional>

#include "model/model.h"

namespace sluice::store {

enum class Fault : uint8_t {
  before_write,  // nothing is written, but the caller cannot know: `unavailable` until reopen()
  after_write,   // it is written, but the caller cannot know: `unavailable` until reopen()
  full,          // nothing is written, and the caller is told so: `overloaded`
  collides,      // nothing is written, because another row was in its way: `conflict`
};

class MemoryWatch {
 public:
  virtual ~MemoryWatch() = default;
  // What becomes of a write that this node is about to make; empty: it is made.
  virtual std::optional<Fault> on_write(model::NodeId by) = 0;
  // False: the node is cut off. Whatever it asks is `unavailable`, and it cannot reopen.
  virtual bool reaches(model::NodeId node) = 0;
  // How many times this node hears a piece of news.
  virtual int news_copies(model::NodeId to) = 0;
  // The list of unfinished runs is asked for; true: not now, it is `overloaded`.
  virtual bool refuses_list(model::NodeId /*to*/) { return false; }
  // The run as a write of this node's has left it.
  virtual void on_moved(model::NodeId by, const model::Run& run) = 0;
};

}  // namespace sluice::store
