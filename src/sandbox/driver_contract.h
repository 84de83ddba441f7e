// What every driver owes: the promises of sandbox.h as a suite that runs once for each of them. The
// tests are in the driver_*_contract_test.cc beside this; the attacks are in tests/hostile.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sandbox/box_story_fixture.h"

namespace sluice::sandbox {

// `driver` as drivers_here() names it.
inline SandboxOptions options_for(const std::string& driver) {
  SandboxOptions options;
  options.driver = driver.substr(0, driver.find('_'));
  if (driver.starts_with("oci_")) options.oci_runtime = driver.substr(4);
  options.warm_target = 0;  // a sandbox is what its own test made of it
  return options;
}

class DriverContract : public testing::TestWithParam<std::string> {
 protected:
  SandboxOptions options() const { return options_for(GetParam()); }
};

inline std::string driver_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace sluice::sandbox
