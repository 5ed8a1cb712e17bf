// fettle db: what tuning has learned, as people look after it.
#include "commands/db.h"

#include "commands/command.h"
#include "jobs/exit_code.h"
#include "options/checks.h"
#include "report/report.h"

namespace fettle::tools {
namespace {

/// One of the things that `fettle db` can do.
struct DbCommand {
  const char* name;
  const char* description;
  Status (*run)(const DbOptions& options);
  void (*add_options)(CLI::App& app, DbOptions& options);
};

void AddFilter(CLI::App& app, DbOptions& options) {
  app.add_option("--kernel", options.filter.kernel, "rows whose kernel's name contains this text");
  app.add_option("--device", options.filter.device,
                 "rows whose device's fingerprint contains this text");
  app.add_option("--build", options.filter.build, "rows whose build contains this text");
}

void AddNothing(CLI::App&, DbOptions&) {}

void AddListOptions(CLI::App& app, DbOptions& options) {
  AddFilter(app, options);
  app.add_option("--limit", options.limit, "the most rows to show (default: all)")
      ->check(NonNegative<int64_t>());
}

void AddPruneOptions(CLI::App& app, DbOptions& options) {
  CLI::App* criteria = app.add_option_group("What may go");
  criteria->require_option(1, 0);
  AddFilter(*criteria, options);
  criteria->add_option("--older-than", options.older_than_days, "rows older than this, in days")
      ->check(Between(0.0, 1e6));
  criteria
      ->add_option("--max-size", options.max_bytes,
                   "the oldest rows, until the file is no larger than this (8MB, 1GB)")
      ->transform(ByteSize());
}

void AddOutput(CLI::App& app, DbOptions& options) {
  options.file = "-";
  app.add_option("FILE", options.file, "the file to write (default -: standard output)");
}

void AddInput(CLI::App& app, DbOptions& options) {
  app.add_option("FILE", options.file, "what `db export` wrote; - is standard input")->required();
}

void AddOther(CLI::App& app, DbOptions& options) {
  app.add_option("FILE", options.file, "the tuning.db to take rows from")->required();
}

constexpr DbCommand kCommands[] = {
    {"info", "count the rows and say where the database is", DbInfo, AddNothing},
    {"list", "list the rows", DbList, AddListOptions},
    {"export", "write rows and plans as JSON lines", DbExport, AddOutput},
    {"import", "add exported rows; of two for the same, the younger stays", DbImport, AddInput},
    {"merge", "add another database; of two rows for the same, the younger stays", DbMerge,
     AddOther},
    {"train", "learn from all rows what kernels take on devices that have none", DbTrain,
     AddNothing},
    {"prune", "remove rows that match all options given", DbPrune, AddPruneOptions},
    {"verify", "read everything and say what is damaged", DbVerify, AddNothing},
};

}  // namespace

void RegisterDb(CLI::App& app, Action& action) {
  CLI::App* db = app.add_subcommand("db", "look at, move and clean the tuning database");
  db->require_subcommand(1);
  for (const DbCommand& command : kCommands) {
    auto options = std::make_shared<DbOptions>();
    CLI::App* sub = db->add_subcommand(command.name, command.description);
    sub->add_option(
           "--cache", options->cache,
           "folder of the tuning database (default: fettle in $XDG_CACHE_HOME or $HOME/.cache)")
        ->envname("FETTLE_CACHE");
    sub->add_flag("--json", options->json, "print one JSON document instead of tables")
        ->envname("FETTLE_JSON");
    AddWide(*sub);
    command.add_options(*sub, *options);
    sub->callback([&action, &command, options] {
      action = [&command, options] {
        InstallLog("warn");
        const Status status = command.run(*options);
        return status.ok() ? static_cast<int>(kExitOk) : Fail(status);
      };
    });
  }
}

}  // namespace fettle::tools
