//===- MutationsMain.cpp - every single fault, and who finds it -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fa4-mutations KERNEL...` makes every edit of each kernel, asks the verifiers, the
// proof and the simulator about each by itself, and prints the tables. Asking the
// simulator about everything takes long: --simulate asks it about a sample, and
// about all that the others accept; with --log, a call goes on where the last ended.
//
//===----------------------------------------------------------------------===//

#include "Apart.h"
#include "Report.h"

#include "fa4/Pipelines/Registration.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>

using namespace fa4::mutations;

namespace {

namespace cl = llvm::cl;
enum class Level { All, Placed, Ptx };
cl::list<std::string> kernels(cl::Positional,
                              cl::desc("<modules with one kernel each; files of one "
                                       "module are joined by +; or bundles>"),
                              cl::OneOrMore);
cl::opt<Level> level("level", cl::desc("Which edits"), cl::init(Level::All),
                     cl::values(clEnumValN(Level::All, "all", "of the placed kernel and its PTX"),
                                clEnumValN(Level::Placed, "t2", "of the placed kernel"),
                                clEnumValN(Level::Ptx, "ptx", "of its PTX")));
cl::opt<int> simulate("simulate",
                      cl::desc("Edits for the simulator besides those that all others accept; "
                               "-1: all"),
                      cl::init(-1));
cl::opt<unsigned> ptxSample("ptx-sample", cl::desc("Edits of the PTX; 0: all"), cl::init(0));
cl::list<std::string> inputs("run",
                             cl::desc("Inputs of a run, such as peaked,q=1x384x2x128,...: a "
                                      "distribution, then open extents; several are run in turn. "
                                      "60+128 in place of an extent: as many runs as the deepest "
                                      "ring has slots, each 128 longer. "
                                      "A kernel's name and a colon in front: of that one alone, "
                                      "instead of those without a name"));
cl::opt<unsigned> seeds("seeds", cl::desc("Random orders that the simulator tries"), cl::init(3));
cl::opt<unsigned> moreSeeds("more-seeds",
                            cl::desc("Random orders, on every input, for edits that nothing else "
                                     "explains"),
                            cl::init(64));
cl::opt<bool>
    lenient("lenient-tcgen05",
            cl::desc("Ask for no fences or waits of tensor memory that others leave out"));
cl::opt<uint64_t> seed("seed", cl::desc("Which sample"), cl::init(1));
cl::opt<unsigned> jobs("jobs", cl::desc("Edits at a time"), cl::init(2));
cl::opt<unsigned> patience("patience", cl::desc("Seconds for one edit"), cl::init(120));
cl::opt<std::string> logFolder("log", cl::desc("Where to keep what was said, to go on from"),
                               cl::value_desc("folder"));
cl::opt<double> minutes("minutes", cl::desc("How long to go on"), cl::init(1e6));
cl::opt<std::string> reportFile("report", cl::desc("Write a page with the tables"));
cl::opt<std::string> note("note", cl::desc("When and where they were made"));
cl::opt<std::string> deepFile("deep", cl::desc("Write a row with each kernel's totals"),
                              cl::value_desc("deep.csv"));
cl::opt<std::string> commit("commit", cl::desc("What those have as commit"), cl::init("unknown"));
cl::opt<int> show("show", cl::desc("Print the edit with this number and what is said about it"),
                  cl::init(-1));
cl::opt<bool> list("list", cl::desc("Print the edits by number and judge nothing"));

using Clock = std::chrono::steady_clock;

/// All edits of a kernel under one numbering, and what is known of each.
class Session {
public:
  Session(Subject &subject, llvm::StringRef name, std::vector<HandArgument> arguments)
      : subject(subject), name(name), arguments(std::move(arguments)) {}

  llvm::Error findEdits();
  void printList(llvm::raw_ostream &os) const;
  void showEdit(size_t number) const;
  /// Returns whether all edits were judged.
  bool run();
  /// Judges what is open after that in more orders.
  llvm::Error askAgain();
  /// The tables, and the numbers of the edits that are open.
  std::pair<Report, std::vector<size_t>> makeReport() const;

private:
  const Edit &edit(size_t number) const {
    return number < placed.size() ? static_cast<const Edit &>(placed[number])
                                  : ptx[number - placed.size()];
  }
  bool isPtx(size_t number) const { return number >= placed.size(); }
  size_t size() const { return placed.size() + ptx.size(); }
  /// The numbers to judge now: everything that is not known, of the PTX a sample.
  std::vector<size_t> findWork() const;
  void judge(const std::vector<size_t> &numbers, bool simulated, unsigned seconds);
  void readLog();
  std::string logHeader() const;

  Subject &subject;
  llvm::StringRef name;
  std::vector<HandArgument> arguments;
  std::vector<PlacedEdit> placed;
  std::vector<PtxEdit> ptx;
  std::vector<std::optional<Verdict>> verdicts;
  std::ofstream log;
  Clock::time_point end;
};

} // namespace

llvm::Error Session::findEdits() {
  if (level != Level::Ptx && subject.getPlaced()) {
    placed = findPlacedEdits(subject.getPlaced());
  }
  if (level != Level::Placed && subject.canRun()) {
    llvm::Expected<std::vector<PtxEdit>> found = findPtxEdits(subject.getPtx());
    if (!found) {
      return found.takeError();
    }
    ptx = std::move(*found);
  }
  verdicts.resize(size());
  return llvm::Error::success();
}

void Session::printList(llvm::raw_ostream &os) const {
  for (size_t number = 0; number < size(); ++number) {
    os << number << ' ' << edit(number).kind << " | " << edit(number).place << '\n';
  }
}

void Session::showEdit(size_t number) const {
  llvm::outs() << edit(number).kind << " | " << edit(number).place << '\n';
  if (isPtx(number)) {
    for (const auto &[line, text] : ptx[number - placed.size()].lines) {
      llvm::outs() << line << ": " << text << '\n';
    }
  } else {
    applyEdit(subject.getPlaced(), placed[number])->print(llvm::outs());
    llvm::outs() << '\n';
  }
  Verdict verdict = isPtx(number) ? subject.judge(ptx[number - placed.size()])
                                  : subject.judge(placed[number], /*simulate=*/true);
  llvm::outs() << toLine(verdict) << '\n';
}

/// The verdicts of another kernel, or with other orders, are of no use here.
std::string Session::logHeader() const {
  return commit + ' ' + std::to_string(llvm::xxh3_64bits(subject.getPlacedText())) + ' ' +
         std::to_string(llvm::xxh3_64bits(subject.getPtx())) + ' ' + std::to_string(seeds) + ' ' +
         std::to_string(moreSeeds);
}

void Session::readLog() {
  if (logFolder.empty()) {
    return;
  }
  if (llvm::sys::fs::create_directories(logFolder)) {
    return;
  }
  std::string path = logFolder + "/" + name.str() + ".log";
  std::ifstream file(path);
  std::string line;
  bool same = std::getline(file, line) && line == logHeader();
  while (same && std::getline(file, line)) {
    auto [number, said] = llvm::StringRef(line).split(' ');
    size_t index = 0;
    if (!number.getAsInteger(10, index) && index < size()) {
      verdicts[index] = fromLine(said);
    }
  }
  file.close();
  log.open(path, same ? std::ios::app : std::ios::trunc);
  if (!same) {
    log << logHeader() << '\n';
  }
}

std::vector<size_t> Session::findWork() const {
  std::vector<size_t> numbers;
  for (size_t number = 0; number < placed.size(); ++number) {
    numbers.push_back(number);
  }
  std::vector<size_t> sample;
  for (size_t number = placed.size(); number < size(); ++number) {
    sample.push_back(number);
  }
  if (ptxSample != 0) {
    std::shuffle(sample.begin(), sample.end(), std::mt19937_64(seed));
    sample.resize(std::min<size_t>(sample.size(), ptxSample));
    llvm::sort(sample);
  }
  llvm::append_range(numbers, sample);
  llvm::erase_if(numbers, [&](size_t number) { return verdicts[number].has_value(); });
  return numbers;
}

void Session::judge(const std::vector<size_t> &numbers, bool simulated, unsigned seconds) {
  runApart(
      numbers, jobs, seconds,
      [&](size_t number) {
        return toLine(isPtx(number) ? subject.judge(ptx[number - placed.size()])
                                    : subject.judge(placed[number], simulated));
      },
      [&](size_t number, std::optional<std::string> said) {
        std::optional<Verdict> verdict = said ? fromLine(*said) : std::nullopt;
        // What the verifiers refuse, the back end need not survive.
        if (!verdict && simulated && !isPtx(number)) {
          verdict = subject.judge(placed[number], /*simulate=*/false);
        }
        if (!verdict || (!verdict->isKilled() && !said)) {
          verdict.emplace();
          verdict->crashed = true;
        }
        verdicts[number] = verdict;
        if (log.is_open()) {
          log << number << ' ' << toLine(*verdict) << '\n';
          log.flush();
        }
      },
      [&] { return Clock::now() > end; });
}

bool Session::run() {
  end = Clock::now() + std::chrono::seconds(static_cast<int64_t>(minutes * 60));
  readLog();
  std::vector<size_t> work = findWork();
  bool all = simulate < 0;
  judge(work, all, patience);
  if (!all && subject.canRun()) {
    // The proof's word is enough for edits of order, so those are part of the sample.
    std::vector<size_t> others;
    std::vector<size_t> open;
    for (size_t number : work) {
      if (!isPtx(number) && verdicts[number] && !verdicts[number]->crashed) {
        bool settled = verdicts[number]->isKilled() || edit(number).concern == Concern::Order;
        (settled ? others : open).push_back(number);
      }
    }
    std::shuffle(others.begin(), others.end(), std::mt19937_64(seed));
    others.resize(std::min<size_t>(others.size(), static_cast<size_t>(simulate)));
    llvm::append_range(open, others);
    judge(open, /*simulated=*/true, patience);
  }
  return llvm::all_of(work, [&](size_t number) { return verdicts[number].has_value(); });
}

std::pair<Report, std::vector<size_t>> Session::makeReport() const {
  Report report(subject.canRun(), subject.getPlacedText(), arguments);
  std::vector<size_t> open;
  for (size_t number = 0; number < size(); ++number) {
    const std::optional<Verdict> &verdict = verdicts[number];
    bool passed = !verdict || (isPtx(number) ? report.add(ptx[number - placed.size()], *verdict)
                                             : report.add(placed[number], *verdict));
    if (!passed) {
      open.push_back(number);
    }
  }
  if (llvm::all_of(verdicts, [](const auto &verdict) { return verdict.has_value(); }) &&
      level == Level::All) {
    report.checkArguments();
  }
  return {std::move(report), std::move(open)};
}

llvm::Error Session::askAgain() {
  std::vector<size_t> open = makeReport().second;
  if (open.empty() || moreSeeds == 0 || !subject.canRun()) {
    return llvm::Error::success();
  }
  subject.setOrders(moreSeeds, /*onEveryInput=*/true);
  if (std::string complaint = subject.checkBaseline(); !complaint.empty()) {
    return llvm::createStringError(
        "expected the unedited kernel to hold in every order, but got: " + complaint);
  }
  // An edit that stays open runs in all of them.
  constexpr unsigned kMorePatience = 10;
  judge(open, /*simulated=*/true, kMorePatience * patience);
  return llvm::Error::success();
}

/// Replaces the row of this commit and kernel.
static void writeDeepRow(llvm::StringRef name, const Report &report) {
  std::string start = commit + ",mutations " + name.str() + ",";
  std::vector<std::string> lines;
  std::ifstream old(deepFile);
  for (std::string line; std::getline(old, line);) {
    if (!llvm::StringRef(line).starts_with(start)) {
      lines.push_back(line);
    }
  }
  old.close();
  if (lines.empty()) {
    lines.emplace_back("commit,target,cases,passed,failed");
  }
  std::ofstream file(deepFile);
  for (const std::string &line : lines) {
    file << line << '\n';
  }
  file << start << report.getPassed() + report.getFailed() << ',' << report.getPassed() << ','
       << report.getFailed() << '\n';
}

namespace {
/// What all kernels of a call came to.
struct Totals {
  size_t passed = 0, failed = 0;
  bool whole = true;
  std::string page;
};
} // namespace

static llvm::Expected<std::unique_ptr<Subject>>
createSubject(mlir::MLIRContext &context, const std::string &path, llvm::ArrayRef<Run> runs) {
  if (llvm::sys::path::extension(path) == ".json") {
    return Subject::createFromBundle(path, runs, lenient);
  }
  std::string module;
  llvm::SmallVector<llvm::StringRef> files;
  llvm::StringRef(path).split(files, '+');
  for (llvm::StringRef file : files) {
    auto text = llvm::MemoryBuffer::getFile(file);
    if (!text) {
      return llvm::createStringError("expected '" + file +
                                     "' to be readable, but got: " + text.getError().message());
    }
    module += (*text)->getBuffer();
  }
  return Subject::create(context, module, runs);
}

static llvm::Error runKernel(mlir::MLIRContext &context, const std::string &path,
                             llvm::ArrayRef<Run> runs, Totals &totals) {
  llvm::StringRef name = llvm::sys::path::stem(llvm::StringRef(path).split('+').first);
  auto subject = createSubject(context, path, selectRuns(runs, name));
  if (!subject) {
    return subject.takeError();
  }
  (*subject)->setOrders(seeds);
  std::vector<HandArgument> arguments;
  llvm::SmallString<128> beside(llvm::StringRef(path).split('+').first);
  llvm::sys::path::replace_extension(beside, "arguments");
  if (auto text = llvm::MemoryBuffer::getFile(beside)) {
    auto parsed = parseArguments((*text)->getBuffer(), (*subject)->getPlacedText());
    if (!parsed) {
      return parsed.takeError();
    }
    arguments = std::move(*parsed);
  }
  Session session(**subject, name, std::move(arguments));
  if (llvm::Error error = session.findEdits()) {
    return error;
  }
  if (list) {
    session.printList(llvm::outs());
    return llvm::Error::success();
  }
  if (show >= 0) {
    session.showEdit(static_cast<size_t>(show));
    return llvm::Error::success();
  }
  bool isWhole = session.run();
  if (isWhole) {
    if (llvm::Error error = session.askAgain()) {
      return error;
    }
  }
  totals.whole &= isWhole;
  Report report = session.makeReport().first;
  llvm::raw_string_ostream page(totals.page);
  page << "\n## `" << name << "`\n\n";
  report.print(page);
  totals.passed += report.getPassed();
  totals.failed += report.getFailed();
  if (!deepFile.empty()) {
    writeDeepRow(name, report);
  }
  return llvm::Error::success();
}

static llvm::Error runTool() {
  std::vector<Run> runs;
  for (const std::string &input : inputs) {
    llvm::Expected<Run> parsed = parseRun(input);
    if (!parsed) {
      return parsed.takeError();
    }
    runs.push_back(std::move(*parsed));
  }
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  fa4::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Totals totals;
  for (const std::string &kernel : kernels) {
    if (llvm::Error error = runKernel(context, kernel, runs, totals)) {
      return error;
    }
  }
  if (list || show >= 0) {
    return llvm::Error::success();
  }
  llvm::outs() << totals.page;
  if (!totals.whole) {
    llvm::outs() << "\nnot all edits were judged in the time given; call again\n";
  }
  if (!reportFile.empty()) {
    std::error_code code;
    llvm::raw_fd_ostream file(reportFile, code);
    if (code) {
      return llvm::createStringError("expected '" + reportFile +
                                     "' to be writable, but got: " + code.message());
    }
    Report::printPreface(file, note);
    file << totals.page;
  }
  llvm::outs() << '\n' << totals.passed << " passed, " << totals.failed << " failed\n";
  llvm::outs().flush();
  return totals.failed == 0
             ? llvm::Error::success()
             : llvm::createStringError("expected every edit to be found or shown to break nothing, "
                                       "but got the lists above");
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "every single fault of a kernel, and who finds it\n");
  if (llvm::Error error = runTool()) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
