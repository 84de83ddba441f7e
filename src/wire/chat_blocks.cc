#include "wire/chat_blocks.h"

#include <algorithm>

#include "base/utf8.h"

namespace sluice::wire {
namespace {

// As long as it is not full; true when it is now.
bool append_bounded(std::string& text, std::string_view more) {
  text += more;
  if (text.size() <= shown_bytes_max) return false;
  text.resize(utf8_prefix_size(text, shown_bytes_max));
  return true;
}

}  // namespace

std::string cut_for_display(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(text.substr(0, utf8_prefix_size(text, bytes_max))).append(cut_note);
}

std::string shown_value(std::string_view value, std::size_t bytes_max) {
  if (value.size() <= bytes_max) return std::string(value);
  const auto document = json::Document::parse(value);
  std::string shown;
  json::append_string(shown,
                      cut_for_display(document ? document.value().root().string().value_or(value) : value, bytes_max));
  return shown;
}

std::string shown_arguments(std::string_view arguments) {
  if (arguments.size() <= shown_bytes_max) return std::string(arguments);
  const auto document = json::Document::parse(arguments);
  if (!document || document.value().root().kind() != json::Kind::object) return shown_value(arguments, shown_bytes_max);
  std::string shown;
  json::Writer writer(shown);
  writer.begin_object();
  document.value().root().each_member([&](std::string_view name, json::Value value) {
    writer.key_escaped(name).raw(shown_value(value.to_text(), shown_bytes_max));
  });
  writer.end_object();
  return shown;
}

// ── words ──

void ChatBlocks::add_words(Words::Kind kind, std::string_view text) {
  if (text.empty()) return;
  auto* last = blocks_.empty() ? nullptr : std::get_if<Words>(&blocks_.back());
  if (last != nullptr && last->kind == kind) {
    last->text += text;
  } else {
    blocks_.emplace_back(Words{kind, std::string(text)});
  }
}

std::optional<std::size_t> ChatBlocks::take_back(int64_t kept_bytes) {
  const auto text_of = [](Block& block) {
    auto* words = std::get_if<Words>(&block);
    return words != nullptr && words->kind == Words::Kind::text ? &words->text : nullptr;
  };
  std::size_t sent = 0;
  for (auto& block : blocks_) {
    if (const auto* text = text_of(block)) sent += text->size();
  }
  if (kept_bytes < 0 || static_cast<uint64_t>(kept_bytes) > sent) return std::nullopt;
  std::size_t left = static_cast<std::size_t>(kept_bytes);
  std::size_t kept = 0;
  for (auto& block : blocks_) {
    auto* text = text_of(block);
    if (text == nullptr) continue;
    const auto size = utf8_prefix_size(*text, left);
    left -= std::min(left, text->size());
    text->resize(size);
    kept += size;
  }
  std::erase_if(blocks_, [&](Block& block) { return text_of(block) != nullptr && text_of(block)->empty(); });
  // Their places have changed.
  steps_.clear();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (const auto* step = std::get_if<StepBlock>(&blocks_[i])) steps_[step->id] = i;
  }
  return kept;
}

// ── steps ──

StepBlock* ChatBlocks::find_step(std::string_view id) {
  const auto found = steps_.find(std::string(id));
  return found == steps_.end() ? nullptr : &std::get<StepBlock>(blocks_[found->second]);
}

StepBlock& ChatBlocks::step(std::string_view id) {
  if (auto* known = find_step(id)) return *known;
  steps_[std::string(id)] = blocks_.size();
  return std::get<StepBlock>(blocks_.emplace_back(StepBlock{.id = std::string(id)}));
}

void ChatBlocks::print(StepBlock& step, std::string_view text) {
  if (!step.output_cut) step.output_cut = append_bounded(step.output, text);
}

std::vector<StepBlock*> ChatBlocks::written_steps() {
  std::vector<StepBlock*> written;
  for (auto& block : blocks_) {
    auto* step = std::get_if<StepBlock>(&block);
    if (step != nullptr && !step->was_run && step->status == "running") written.push_back(step);
  }
  return written;
}

// ── the rest ──

template <typename Kind>
Kind* ChatBlocks::find(std::string_view id) {
  for (auto& block : blocks_) {
    auto* found = std::get_if<Kind>(&block);
    if (found != nullptr && found->id == id) return found;
  }
  return nullptr;
}

template <typename Kind>
Kind& ChatBlocks::find_or_add(std::string_view id) {
  if (auto* known = find<Kind>(id)) return *known;
  auto& made = std::get<Kind>(blocks_.emplace_back(Kind{}));
  made.id = id;
  return made;
}

template <typename Kind>
Kind& ChatBlocks::only() {
  for (auto& block : blocks_) {
    if (auto* found = std::get_if<Kind>(&block)) return *found;
  }
  return std::get<Kind>(blocks_.emplace_back(Kind{}));
}

void ChatBlocks::change_file(std::string_view type, std::string_view path) {
  auto& block = only<Files>();
  const auto [known, is_fresh] = block.by_path.try_emplace(std::string(path), block.files.size());
  if (is_fresh) block.files.push_back({"", std::string(path)});
  block.files[known->second].type = type;
}

void ChatBlocks::set_diff(std::string diff) { only<Diff>().diff = std::move(diff); }

void ChatBlocks::set_run_diff(std::string diff) { only<RunDiff>().diff = std::move(diff); }

ApprovalBlock& ChatBlocks::approval(std::string_view id) { return find_or_add<ApprovalBlock>(id); }

ApprovalBlock* ChatBlocks::pending_approval() {
  for (auto& block : blocks_) {
    auto* approval = std::get_if<ApprovalBlock>(&block);
    if (approval != nullptr && approval->status == "pending") return approval;
  }
  return nullptr;
}

void ChatBlocks::add_output(std::string name, std::string value) {
  blocks_.emplace_back(ToolOutput{std::move(name), std::move(value)});
}

void ChatBlocks::add_assets(std::string files) { blocks_.emplace_back(Assets{std::move(files)}); }

SubagentBlock& ChatBlocks::subagent(std::string_view id) { return find_or_add<SubagentBlock>(id); }

void ChatBlocks::say(SubagentBlock& subagent, std::string_view text) {
  if (!subagent.text_cut) subagent.text_cut = append_bounded(subagent.text, text);
}

// ── as JSON ──

void append_members(json::Writer& writer, const StepBlock& step, bool with_args) {
  writer.key("id").string(step.id).key("name").string(step.name).key("status").string(step.status);
  if (!step.subagent.empty()) writer.key("subagent").string(step.subagent);
  if (with_args && !step.args.empty()) writer.key("args").raw(step.args);
  if (step.result) writer.key("result").raw(*step.result);
  if (step.error) writer.key("error").string(*step.error);
  if (step.duration_ms) writer.key("durationMs").integer(*step.duration_ms);
}

void append_members(json::Writer& writer, const ApprovalBlock& approval) {
  writer.key("approvalId").string(approval.id).key("status").string(approval.status);
  writer.key("reason").string(approval.reason).key("items").raw(approval.items);
  writer.key("expiresAt").integer(approval.expires_at_ms);
}

void ChatBlocks::append(json::Writer& writer, const Words& words) {
  writer.key("type").string(words.kind == Words::Kind::text ? "text" : "reasoning").key("text").string(words.text);
}

void ChatBlocks::append(json::Writer& writer, const StepBlock& step) {
  writer.key("type").string("step");
  append_members(writer, step, true);
  if (step.output.empty()) return;
  writer.key("output").string(step.output_cut ? step.output + std::string(cut_note) : step.output);
}

void ChatBlocks::append(json::Writer& writer, const Files& files) {
  writer.key("type").string("files").key("files").begin_array();
  for (const auto& file : files.files) {
    writer.begin_object().key("type").string(file.type).key("path").string(file.path).end_object();
  }
  writer.end_array();
}

void ChatBlocks::append(json::Writer& writer, const Diff& diff) {
  writer.key("type").string("diff").key("diff").string(diff.diff);
}

void ChatBlocks::append(json::Writer& writer, const RunDiff& diff) {
  writer.key("type").string("run_diff").key("diff").string(diff.diff);
}

void ChatBlocks::append(json::Writer& writer, const ApprovalBlock& approval) {
  writer.key("type").string("approval");
  append_members(writer, approval);
}

void ChatBlocks::append(json::Writer& writer, const ToolOutput& output) {
  writer.key("type").string("tool_output").key("name").string(output.name).key("value").raw(output.value);
}

void ChatBlocks::append(json::Writer& writer, const SubagentBlock& subagent) {
  writer.key("type").string("subagent").key("id").string(subagent.id).key("name").string(subagent.name);
  writer.key("status").string(subagent.status);
  if (subagent.error) writer.key("error").string(*subagent.error);
  if (subagent.text.empty()) return;
  writer.key("text").string(subagent.text_cut ? subagent.text + std::string(cut_note) : subagent.text);
}

void ChatBlocks::append(json::Writer& writer, const Assets& assets) {
  writer.key("type").string("assets").key("files").raw(assets.files);
}

void ChatBlocks::append_json(json::Writer& writer) const {
  writer.begin_array();
  for (const auto& block : blocks_) {
    writer.begin_object();
    std::visit([&](const auto& kind) { append(writer, kind); }, block);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace sluice::wire
