// Figures of a ranked list with graded entries; grade 0 means irrelevant.

// Discounted cumulative gain of the first k, with linear gain (Järvelin and Kekäläinen 2002).
function dcg(grades, k) {
  return grades.slice(0, k).reduce((sum, grade, index) => sum + grade / Math.log2(index + 2), 0);
}

// Gain of the first k divided by that of the ideal order; 0 if there is no gain. `ideal` holds the grades of all
// targets, highest first.
export function ndcg(grades, ideal, k) {
  const best = dcg(ideal, k);
  return best > 0 ? dcg(grades, k) / best : 0;
}

// Mean over all targets of the precision at their rank, 0 for targets that are not found. See Manning, Raghavan and
// Schütze 2008, section 8.4.
export function averagePrecision(grades, targets) {
  if (targets === 0) return 0;
  let found = 0;
  let sum = 0;
  for (const [index, grade] of grades.entries()) {
    if (grade > 0) {
      found += 1;
      sum += found / (index + 1);
    }
  }
  return sum / targets;
}
