// `sluice store verify|export|import|migrate|sweep`, `sluice backup` and `sluice restore`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/app.h"
#include "app/config.h"

namespace sluice::app {

inline constexpr std::string_view store_help =
    "usage: sluice store verify [--json] [flags of serve]\n"
    "       sluice store export FILE [flags of serve]\n"
    "       sluice store import FILE [flags of serve]\n"
    "       sluice store migrate FROM TO\n"
    "       sluice store sweep [flags of serve]\n\n"
    "verify looks at every row, journal, message, hash chain and file and names what is damaged; exit code 1 when\n"
    "something is. It changes nothing, and a server may be running. export writes one moment of the store into FILE,\n"
    "also beside a server. import reads it into a store that is empty; migrate does both at once, between sqlite:PATH\n"
    "and postgresql://…: no server may be running. sweep removes files that nothing names any more and that are older\n"
    "than a day, while the server is stopped. More: docs/backup.md.\n\n"
    "  sluice store verify --data /var/lib/sluice\n"
    "  sluice store migrate sqlite:/var/lib/sluice/sluice.db postgresql://sluice@db/sluice\n\n";

inline constexpr std::string_view backup_help =
    "usage: sluice backup DIR [--with-keys] [--json] [flags of serve]\n\n"
    "Copies the store and its files into DIR, which must not be there; the server may go on running. What was copied "
    "is\n"
    "looked through and read again before DIR gets its name; damage is named, and copied as it is (exit code 1). "
    "Without\n"
    "--with-keys the backup has neither the vault's key nor bootstrap.json: keep those elsewhere, because without the "
    "key\n"
    "nobody can open the secrets in it, and with it everybody can.\n\n"
    "  sluice backup /backup/sluice-2026-11-16 --data /var/lib/sluice\n\n";

inline constexpr std::string_view restore_help =
    "usage: sluice restore DIR [--json] [flags of serve]\n\n"
    "Puts a backup into a data directory (--data) and a store (--store) that have nothing in them, after checking "
    "every\n"
    "file of it, and looks through the result.\n\n"
    "  sluice restore /backup/sluice-2026-11-16 --data /var/lib/sluice\n\n";

// The order that `words` begin with, taken out of them; what is left is configuration.
struct StoreOrder {
  std::string command;  // "store", "backup" or "restore"
  std::string verb;     // of store
  std::vector<std::string> places;
  bool with_keys = false;
  std::string version;
};
StoreOrder take_store_order(std::string_view command, std::vector<std::string>& words);
// Wrong use, in words; empty: it is right.
std::string misuse_of(const StoreOrder& order);

// Gives the exit code.
int run_store(const StoreOrder& order, const Config& config, Form form);

}  // namespace sluice::app
