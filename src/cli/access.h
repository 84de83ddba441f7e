// Where the server is and with which keys: from flags, then the environment, then the bootstrap.json
// of a server on this machine.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/cli.h"

namespace sluice::cli {

struct Access {
  std::string url;
  std::string key;
  std::string admin_key;
  std::string tenant_id;  // of bootstrap.json; empty if there is none
  std::string ca_file;
  std::string data_dir;
  std::string approver_file;  // bootstrap.json, if it has an approver key for this server
};

// `invalid` when bootstrap.json was asked for by --data and cannot be read.
Result<Access> find_access(const Arguments& arguments, const Environment& environment);

}  // namespace sluice::cli
