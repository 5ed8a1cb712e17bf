#include "report/opencl_facts.h"

#include <fmt/ranges.h>

#include "report/table.h"

namespace fettle::tools {
namespace {

std::string ChoiceOf(const OpenClListing& listing) {
  return fmt::format("opencl:{}:{}", listing.platform_index, listing.device_index);
}

std::vector<std::string> SvmNames(const OpenClFacts& facts) {
  std::vector<std::string> names;
  if (facts.svm_coarse) names.push_back("coarse");
  if (facts.svm_fine) names.push_back("fine");
  return names;
}

Json ImagesJson(const OpenClFacts& facts) {
  if (!facts.images) return nullptr;
  return {{"fp16", facts.half_images},
          {"max_width", facts.image2d_max_width},
          {"max_height", facts.image2d_max_height},
          {"max_buffer_pixels", facts.image1d_buffer_max_pixels},
          {"pitch_alignment_pixels", facts.image_pitch_alignment_pixels}};
}

Json DeviceJson(const OpenClInventory::Entry& entry) {
  const OpenClFacts& facts = entry.listing.facts;
  Json device{{"choice", ChoiceOf(entry.listing)},
              {"platform", facts.platform},
              {"name", facts.name},
              {"vendor", facts.vendor},
              {"version", facts.version},
              {"driver", facts.driver},
              {"family", facts.family},
              {"is_cpu", facts.is_cpu},
              {"full_profile", facts.full_profile},
              {"compute_units", facts.compute_units},
              {"max_work_group_size", facts.max_work_group_size},
              {"max_work_item_sizes", facts.max_work_item_sizes},
              {"global_bytes", facts.global_bytes},
              {"max_allocation_bytes", facts.max_allocation_bytes},
              {"global_cache_bytes", facts.global_cache_bytes},
              {"local_bytes", facts.local_bytes},
              {"local_memory", facts.local_memory_is_dedicated ? "dedicated" : "global"},
              {"unified_memory", facts.unified_memory},
              {"base_address_align", facts.base_address_align},
              {"fp16_storage", facts.fp16_storage},
              {"fp16_compute", facts.fp16_compute},
              {"int8_dot", facts.int8_dot},
              {"sub_groups", facts.sub_groups},
              {"svm", SvmNames(facts)},
              {"images", ImagesJson(facts)},
              {"extensions", facts.extensions},
              {"fingerprint", entry.fingerprint}};
  if (!entry.error.empty()) device["error"] = entry.error;
  return device;
}

std::string Bytes(int64_t size) {
  return size > 0 ? HumanBytes(static_cast<double>(size)) : std::string("unknown");
}

std::string ImagesText(const OpenClFacts& facts) {
  if (!facts.images) return "none";
  return fmt::format("RGBA f32{}, at most {}x{} pixels, {} over a buffer",
                     facts.half_images ? " and f16" : "", facts.image2d_max_width,
                     facts.image2d_max_height, facts.image1d_buffer_max_pixels);
}

std::string DeviceText(const OpenClInventory::Entry& entry) {
  const OpenClFacts& facts = entry.listing.facts;
  const std::vector<std::string> svm = SvmNames(facts);
  Table table({{"device"}, {.title = ChoiceOf(entry.listing), .narrow = Table::Narrow::kWrap}});
  table.Row({"name", facts.name});
  table.Row({"platform", fmt::format("{}, {}", facts.platform, facts.version)});
  table.Row({"driver", facts.driver});
  table.Row({"family", facts.family});
  if (!entry.error.empty()) table.Row({"cannot be opened", entry.error});
  table.Row({"compute units", fmt::format("{}", facts.compute_units)});
  table.Row({"work-group", fmt::format("at most {} items, {} per axis", facts.max_work_group_size,
                                       fmt::join(facts.max_work_item_sizes, "x"))});
  table.Row({"memory", fmt::format("{}{}, at most {} at once", Bytes(facts.global_bytes),
                                   facts.unified_memory ? " shared with the host" : "",
                                   Bytes(facts.max_allocation_bytes))});
  table.Row({"local memory",
             fmt::format("{}, {}", Bytes(facts.local_bytes),
                         facts.local_memory_is_dedicated ? "dedicated" : "in global memory")});
  table.Row({"fp16", facts.fp16_compute ? "storage and compute" : "storage"});
  table.Row({"int8 dot", facts.int8_dot ? "yes" : "no"});
  table.Row({"sub-groups", facts.sub_groups ? "yes" : "no"});
  table.Row({"shared virtual memory",
             svm.empty() ? std::string("none") : fmt::format("{}", fmt::join(svm, " and "))});
  table.Row({"images", ImagesText(facts)});
  table.Row({"fingerprint", entry.fingerprint});
  return table.ToString();
}

}  // namespace

OpenClInventory TakeOpenClInventory() {
  OpenClInventory inventory;
  const Result<std::vector<OpenClListing>> listings = ListOpenClDevices();
  if (!listings.ok()) inventory.reason = listings.status().message();
  if (!listings.ok()) return inventory;
  if (listings->empty()) inventory.reason = "OpenCL: no platform has a device";
  for (const OpenClListing& listing : *listings) {
    OpenClInventory::Entry entry{.listing = listing, .fingerprint = Fingerprint(listing.facts)};
    const auto opened = OpenClDevice::Open(listing);
    if (opened.ok()) {
      entry.listing.facts = (*opened)->facts();
    } else {
      entry.error = opened.status().message();
    }
    inventory.devices.push_back(std::move(entry));
  }
  return inventory;
}

Json OpenClJson(const OpenClInventory& inventory) {
  Json devices = Json::array();
  for (const OpenClInventory::Entry& entry : inventory.devices)
    devices.push_back(DeviceJson(entry));
  return devices;
}

std::string OpenClText(const OpenClInventory& inventory) {
  if (inventory.devices.empty()) return fmt::format("opencl: none ({})\n", inventory.reason);
  std::string text;
  for (const OpenClInventory::Entry& entry : inventory.devices)
    text += (text.empty() ? "" : "\n") + DeviceText(entry);
  return text;
}

}  // namespace fettle::tools
