// JSON of the API as people read it. Pure: text in, text out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace sluice::cli {

struct Column {
  std::string_view title;
  std::string_view member;  // "status", or "model.name"
};

// One line a row, columns aligned. Says so when there is none.
std::string table_of(json::Value rows, std::span<const Column> columns);

// One line a member, values aligned; what is nested is compact JSON.
std::string fields_of(json::Value object);

// "user  2026-07-02T10:00:00Z  msg_…", then the words, indented.
std::string dialogue_of(json::Value messages);

// The problem's title, status, detail, errors and request id. Copes with bodies that are no problem.
std::string problem_text(int status, std::string_view body);

// Without what could command a terminal: escape sequences and other control characters.
std::string harmless(std::string_view text);

// What a program printed, as a terminal would leave it: without escape sequences, and with lines that were written over
// as they ended up.
std::string printed_text(std::string_view output);

// Without an escape sequence at the end of which more may come.
std::string_view without_open_escape(std::string_view output);

// A short form of a value: strings bare, null as "-".
std::string plain(json::Value value);

// An approval as a person must see it before a decision: complete, and so that no line can imitate another.
std::string approval_text(json::Value approval);

}  // namespace sluice::cli
