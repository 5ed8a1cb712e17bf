#include "job/beside.h"

#include <fmt/format.h>

#include "basics/failure.h"
#include "job/folder_record.h"
#include "job/job_folder.h"

namespace fettle::enhance {

void CheckBeside(const JobOptions& options, const Plan& plan, const std::filesystem::path& file,
                 std::string_view what) {
  std::error_code ignored;
  for (const auto& [which, other] : {std::pair{"input", &plan.input}, {"output", &plan.output}})
    if (std::filesystem::absolute(file).lexically_normal() ==
            std::filesystem::absolute(*other).lexically_normal() ||
        std::filesystem::equivalent(file, *other, ignored))
      throw Failure(kExitUsage,
                    fmt::format("{}: cannot hold {}, as it is the {}", file.string(), what, which));
  if (options.plan_only) return;
  if (!std::filesystem::is_directory(std::filesystem::absolute(file).parent_path()))
    throw Failure(kExitUsage, fmt::format("{}: no such folder", file.string()));
  if (std::filesystem::is_directory(file))
    throw Failure(kExitUsage, fmt::format("{}: is a folder", file.string()));
  const bool own = JobFolder::WaitsComplete(options.output) ||
                   (options.record != nullptr && options.record->Began(options.output));
  if (!options.overwrite && !own && std::filesystem::exists(file))
    throw Failure(kExitUsage,
                  fmt::format("{}: already exists (--overwrite replaces it)", file.string()));
}

}  // namespace fettle::enhance
