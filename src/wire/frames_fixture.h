// What a browser makes of the Assistant's frames, as docs/assistant.md tells it to: for tests, which compare it with
// what is kept.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/sse.h"
#include "wire/chat_blocks.h"

namespace sluice::wire {

// A block: its members as JSON.
using Row = std::map<std::string, std::string>;

inline std::string json_text(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

inline std::string plain_text(const std::string& json) {
  const auto document = json::Document::parse(json);
  SLUICE_CHECK(document && document.value().root().string());
  return std::string(*document.value().root().string());
}

inline Row row_of(json::Value object) {
  Row row;
  object.each_member([&](std::string_view name, json::Value value) { row[std::string(name)] = value.to_text(); });
  return row;
}

inline std::vector<Row> rows_of(json::Value list) {
  std::vector<Row> rows;
  list.each_element([&](json::Value item) { rows.push_back(row_of(item)); });
  return rows;
}

class FrameReducer {
 public:
  void feed(std::string_view bytes) {
    auto events = reader_.feed(bytes);
    SLUICE_CHECK(events);
    for (const auto& event : events.value()) {
      const auto data = json::Document::parse(event.data);
      SLUICE_CHECK(data);
      SLUICE_CHECK(event.id == std::to_string(types.size()));
      types.push_back(event.type);
      take(event.type, row_of(data.value().root()));
    }
  }

  std::vector<Row> blocks() const {
    auto shown = rows_;
    for (auto& row : shown) {
      const std::string name = row["type"] == R"("step")" ? "output" : row["type"] == R"("subagent")" ? "text" : "";
      const auto member = row.find(name);
      if (member == row.end()) continue;
      member->second = json_text(cut_for_display(plain_text(member->second), shown_bytes_max));
    }
    return shown;
  }

  std::vector<std::string> types;
  std::string filler;

 private:
  void take(const std::string& type, Row data) {
    data.erase("ts");
    if (type == "delta") say("text", data["text"]);
    if (type == "reasoning") say("reasoning", data["text"]);
    if (type == "replace") take_back(std::stoull(data["keptBytes"]));
    if (type == "step") take_step(data);
    if (type == "output") add_text(find("step", "id", data["id"]), "output", data["text"]);
    if (type == "file") take_file(data);
    if (type == "diff") find("diff", "type", R"("diff")")["diff"] = data["diff"];
    if (type == "approval") merge(find("approval", "approvalId", data["approvalId"]), data);
    if (type == "custom") take_custom(data);
    if (type == "subagent") take_subagent(data);
  }

  // The one that has it, or one made for it.
  Row& find(const std::string& type, const std::string& name, const std::string& value) {
    for (auto& row : rows_) {
      if (row["type"] == json_text(type) && row.contains(name) && row[name] == value) return row;
    }
    return rows_.emplace_back(Row{{"type", json_text(type)}, {name, value}});
  }
  static void merge(Row& row, const Row& data) {
    for (const auto& [name, value] : data) row[name] = value;
  }
  static void add_text(Row& row, const std::string& name, const std::string& more) {
    row[name] = json_text((row.contains(name) ? plain_text(row[name]) : "") + plain_text(more));
  }

  void say(const std::string& type, const std::string& text) {
    if (plain_text(text).empty()) return;
    if (rows_.empty() || rows_.back()["type"] != json_text(type)) rows_.push_back({{"type", json_text(type)}});
    add_text(rows_.back(), "text", text);
  }
  void take_back(std::size_t kept) {
    for (auto& row : rows_) {
      if (row["type"] != R"("text")") continue;
      const auto text = plain_text(row["text"]);
      row["text"] = json_text(text.substr(0, kept));
      kept -= std::min(kept, text.size());
    }
    std::erase_if(rows_, [](Row& row) { return row["type"] == R"("text")" && row["text"] == R"("")"; });
  }
  void take_step(const Row& data) {
    auto& row = find("step", "id", data.at("id"));
    for (const auto* name : {"result", "error", "durationMs"}) row.erase(name);
    merge(row, data);
  }
  void take_file(const Row& data) {
    auto& block = find("files", "type", R"("files")");
    const auto known = std::ranges::find(files_, data.at("path"), [](const auto& file) { return file.second; });
    if (known == files_.end()) {
      files_.emplace_back(data.at("type"), data.at("path"));
    } else {
      known->first = data.at("type");
    }
    std::string list;
    for (const auto& [type, path] : files_) {
      list += (list.empty() ? "" : ",") + (R"({"type":)" + type) + R"(,"path":)" + path + "}";
    }
    block["files"] = "[" + list + "]";
  }
  void take_custom(Row& data) {
    if (data["name"] == R"("sluice.run-diff")") {
      const auto value = json::Document::parse(data["value"]);
      find("run_diff", "type", R"("run_diff")")["diff"] = value.value().root().find("diff")->to_text();
      return;
    }
    if (data["name"] != R"("sluice.assets")") {
      data["type"] = R"("tool_output")";
      rows_.push_back(data);
      return;
    }
    const auto value = json::Document::parse(data["value"]);
    rows_.push_back({{"type", R"("assets")"}, {"files", value.value().root().find("files")->to_text()}});
  }
  void take_subagent(Row data) {
    auto& row = find("subagent", "id", data["id"]);
    const auto text = data.find("text");
    if (text != data.end()) add_text(row, "text", text->second);
    data.erase("text");
    merge(row, data);
  }

  SseReader reader_;
  std::vector<Row> rows_;
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace sluice::wire
