// Decisions by what they were made for.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "ir/graph.h"
#include "planner/choices.h"

namespace fettle::planner {

/// What a decision was made for.
struct DecisionKey {
  /// Hash of the graph's operators, edges and element types, without extents and contents.
  uint64_t structure = 0;
  /// Hash of the graph's text: extents, attributes and names too.
  uint64_t graph = 0;
  /// DeviceSet::fingerprint(), and Limits::policy where there is a device beside the CPU.
  std::string device;
  int threads = 0;

  bool operator==(const DecisionKey&) const = default;
};

DecisionKey KeyOf(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits);

/// "STRUCTURE GRAPH THREADS DEVICE" with the hashes in hexadecimal, and back (kCorrupt).
std::string PrintKey(const DecisionKey& key);
Result<DecisionKey> ParseKey(std::string_view text);

/// The text of a decision (PrintDecision) and its key.
struct BookEntry {
  DecisionKey key;
  std::string text;
};

class PlanBook;
/// The key that `book` answers for a session of `limits`: a plan made for the accelerator alone
/// serves where the CPU may help too, where there is no other.
DecisionKey KeyIn(const PlanBook& book, const ir::Graph& graph, const DeviceSet& devices,
                  const Limits& limits);

/// What a session has to be made with to take a plan that `book` has for a graph of this structure
/// on these devices: "precision normal, 2 threads", with what of it differs from `limits`. Empty
/// where it takes one, or where the book has none for the graph and devices.
std::string MissedSettings(const PlanBook& book, const ir::Graph& graph, const DeviceSet& devices,
                           const Limits& limits);

/// Thread-safe.
class PlanBook {
 public:
  /// Replaces the entry of an equal key.
  void Put(BookEntry entry);
  /// The text for exactly this key; empty: none.
  std::string Find(const DecisionKey& key) const;
  /// The text for a graph of equal structure, device and threads, but other extents: the one put
  /// last; empty: none.
  std::string FindSimilar(const DecisionKey& key) const;
  std::vector<BookEntry> entries() const;

 private:
  mutable std::mutex mutex_;
  std::vector<BookEntry> entries_;
};

}  // namespace fettle::planner
