// Every bound in the house, with the attack or the accident it answers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::limits {

// Requests.
inline constexpr std::size_t request_line_bytes_max = 8 * 1024;  // a URL that never ends
inline constexpr std::size_t header_bytes_max = 32 * 1024;       // all header fields together
inline constexpr std::size_t header_count_max = 100;             // thousands of tiny headers
inline constexpr std::size_t request_body_bytes_max = 4 * 1024 * 1024;
inline constexpr std::size_t request_body_memory_max = 256 * 1024;            // past it a body goes to disk
inline constexpr std::size_t bodies_in_flight_bytes_max = 256 * 1024 * 1024;  // strangers who send all at once
inline constexpr std::size_t spooled_bytes_max = 4ULL * 1024 * 1024 * 1024;   // the same, on disk
// A large body may take long, a slow one not: each byte buys time.
inline constexpr int64_t request_body_bytes_per_ms_min = 64;
// A body in which everything is wrong: what is said of it stays small, and costs little to find.
inline constexpr std::size_t field_errors_max = 100;
inline constexpr std::size_t field_error_text_bytes_max = 1024;  // a pointer through a long name; a message that quotes
inline constexpr int json_depth_max = 64;                        // "[[[[…" costs a stack frame a level

// Connections.
inline constexpr std::size_t connection_count_max = 20'000;
inline constexpr uint32_t streams_per_connection_max = 256;  // HTTP/2: requests at once on one connection
inline constexpr uint32_t nuisances_per_second_max = 1000;   // HTTP/2: resets, pings, settings: cheap to send
inline constexpr std::size_t unread_answers_bytes_max = 16 * 1024 * 1024;  // HTTP/2: who asks and does not read
inline constexpr int64_t request_head_ms_max = 10'000;  // slowloris: a head that arrives a byte at a time
inline constexpr int64_t request_body_ms_max = 60'000;  // the same with the body
inline constexpr int64_t keep_alive_idle_ms_max = 75'000;
inline constexpr int64_t write_stall_ms_max = 120'000;              // a client that stopped reading holds a buffer
inline constexpr std::size_t stream_unsent_bytes_max = 256 * 1024;  // past it a slow reader reads from the journal

// Words of the API.
inline constexpr std::size_t message_content_bytes_max = 1024 * 1024;
inline constexpr std::size_t chat_message_chars_max = 100'000;
inline constexpr std::size_t chat_title_chars_max = 80;  // taken from its first message
inline constexpr std::size_t attachments_max = 20;       // of one message
inline constexpr std::size_t name_chars_max = 255;       // names, titles, external ids
inline constexpr std::size_t metadata_keys_max = 50;
inline constexpr std::size_t metadata_key_chars_max = 255;
inline constexpr std::size_t metadata_value_chars_max = 500;
inline constexpr std::size_t idempotency_key_chars_max = 255;
inline constexpr int64_t idempotency_ms = 24LL * 3600 * 1000;
inline constexpr std::size_t env_entries_max = 100;
inline constexpr std::size_t env_name_chars_max = 128;
inline constexpr std::size_t env_value_bytes_max = 32 * 1024;
inline constexpr std::size_t skill_ids_max = 50;
inline constexpr std::size_t skill_bundle_bytes_max = 8 * 1024 * 1024;     // packed
inline constexpr std::size_t skill_request_bytes_max = 12 * 1024 * 1024;   // a bundle, or its files in base64
inline constexpr std::size_t upload_request_bytes_max = 52 * 1024 * 1024;  // the files of one execution (S-12)
inline constexpr std::size_t bag_files_max = 500;                          // in one chat: each turn lists them all
inline constexpr std::size_t setup_script_bytes_max = 64 * 1024;
inline constexpr int page_default = 20;
inline constexpr int page_max = 100;
inline constexpr std::size_t page_bytes_max = 4 * 1024 * 1024;  // a page of the largest messages

// Tables: small enough to be looked through for every question.
inline constexpr int64_t tables_per_tenant_max = 200;
inline constexpr std::size_t table_columns_max = 64;
inline constexpr int64_t table_rows_max = 10'000;
inline constexpr int64_t table_bytes_max = 32 * 1024 * 1024;
inline constexpr std::size_t table_row_bytes_max = 64 * 1024;
inline constexpr std::size_t table_insert_rows_max = 1'000;
inline constexpr std::size_t filter_conditions_max = 64;
inline constexpr int filter_depth_max = 6;

// Workflows.
inline constexpr std::size_t workflow_definition_bytes_max = 256 * 1024;
inline constexpr std::size_t workflow_blocks_max = 50;
inline constexpr std::size_t workflow_edges_max = 500;
inline constexpr std::size_t workflow_inputs_max = 50;                // and outputs
inline constexpr std::size_t workflow_inputs_bytes_max = 256 * 1024;  // their values
inline constexpr std::size_t block_output_bytes_max = 1024 * 1024;    // one block that feeds all others
inline constexpr std::size_t http_block_answer_bytes_max = 1024 * 1024;
inline constexpr int64_t workflow_runs_at_once_max = 100;  // of one tenant: workflows that start workflows

// Clones.
inline constexpr std::size_t single_host_connections_max = 16;  // at once, of one sandbox in which git runs

// Runs.
inline constexpr std::size_t answer_bytes_max = 8 * 1024 * 1024;            // a model that never stops talking
inline constexpr std::size_t program_events_bytes_max = 128 * 1024 * 1024;  // an agent program that fills the journal
inline constexpr std::size_t journal_event_overhead_bytes = 256;            // what a short event becomes on a wire
inline constexpr std::size_t history_messages_max = 200;                    // replayed to the model
inline constexpr std::size_t history_bytes_max = 4 * 1024 * 1024;           // the same, of large messages
inline constexpr std::size_t replay_turns_max = 20;                         // of it, to a runner elsewhere
inline constexpr std::size_t provider_line_bytes_max = 4 * 1024 * 1024;     // an SSE line without end
inline constexpr std::size_t runner_line_bytes_max = 64 * 1024 * 1024;      // the longest answer, every byte escaped
inline constexpr std::size_t runner_steps_max = 1024;                       // at once: a runner that ends none of them

}  // namespace sluice::limits
