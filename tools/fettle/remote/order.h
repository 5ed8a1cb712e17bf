// What a command line asks of a target: the words for the program there, and the files they name.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// A local file that a target needs.
struct SentFile {
  std::string path;  // here
  std::string name;  // there, below the job's folder
};

/// One command for any number of targets.
struct RemoteOrder {
  std::string command;             // "tune"
  std::string model;               // as the user named it; empty where there is none
  std::vector<std::string> words;  // of the program there, from the command on
  std::vector<SentFile> files;
  uint64_t hash = 0;  // of the words and of what the files hold
};

/// The order that `command` stands for after it was parsed: options of the environment are words,
/// too; those that say where results go stay here. Models with external data become one file in
/// `scratch`, a local folder. Fails as reading the files does; with kInvalidArgument on standard
/// input, folders, and options that mean nothing at a distance.
Result<RemoteOrder> MakeOrder(const CLI::App& command, const std::string& scratch);

}  // namespace fettle::tools
