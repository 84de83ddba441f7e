// Carries out the steps of a plan, one after the other, without opinions.
#pragma once

#include "sandbox/box/line.h"

namespace sluice::sandbox::box {

// Reads a count and so many steps, whose targets lie below `tree` ("" is the root). Texts of files
// are put into `drawer` and bound to their place where the tree can no longer be written to; null: it can.
bool take_steps(Reader& steps, const char* tree, const char* drawer, Trouble& trouble);

bool make_directories(char* path);  // all of it; `path` is written to and restored
bool write_file(const char* path, const char* text, std::size_t bytes);

}  // namespace sluice::sandbox::box
