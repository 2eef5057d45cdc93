//! Matrices: their rows, sums, products with numbers, and determinants.

use crate::answer::Answer;
use crate::expression::Expression;
use crate::limits::MAX_DETERMINANT;
use crate::syntax::cursor::Reading;
use crate::syntax::token::ReadError;

/// Maximum number of parts of expressions that the product of a number and a matrix adds.
const MAX_PRODUCT_SIZE: usize = 20_000;

/// Rows of a matrix.
pub type Rows = Vec<Vec<Expression>>;

/// Returns the sum of values or of matrices. A single structure is itself.
///
/// # Errors
/// Reports terms that cannot be added.
pub fn sum(mut terms: Vec<Answer>) -> Reading<Answer> {
    if terms.len() == 1 {
        return terms.pop().ok_or(ReadError::Syntax);
    }
    if matches!(terms.first(), Some(Answer::Matrix(_))) {
        let mut terms = terms.into_iter().map(rows);
        let mut total = terms.next().ok_or(ReadError::Syntax)??;
        for rows in terms {
            let rows = rows?;
            if shape(&rows) != shape(&total) {
                return Err(ReadError::Syntax);
            }
            for (into, row) in total.iter_mut().zip(rows) {
                for (cell, added) in into.iter_mut().zip(row) {
                    let before = std::mem::replace(cell, Expression::whole(0));
                    *cell = Expression::Sum(vec![before, added]);
                }
            }
        }
        return Ok(Answer::Matrix(total));
    }
    let terms: Option<Vec<Expression>> = terms.into_iter().map(Answer::into_value).collect();
    Ok(Answer::Value(Expression::Sum(terms.ok_or(ReadError::Syntax)?)))
}

/// Returns the product of values and at most one matrix. A single structure is itself.
///
/// # Errors
/// Reports factors that cannot be multiplied.
pub fn product(mut factors: Vec<Answer>) -> Reading<Answer> {
    if factors.len() == 1 {
        return factors.pop().ok_or(ReadError::Syntax);
    }
    let mut matrix = None;
    let mut values = Vec::new();
    for factor in factors {
        match factor {
            Answer::Value(value) => values.push(value),
            Answer::Matrix(rows) if matrix.is_none() => matrix = Some(rows),
            _ => return Err(ReadError::Syntax),
        }
    }
    let value = Expression::Product(values);
    let cells = matrix.as_ref().map_or(0, |rows| shape(rows).0 * shape(rows).1);
    if cells * value.size() > MAX_PRODUCT_SIZE {
        return Err(ReadError::TooLarge);
    }
    Ok(match matrix {
        Some(rows) => Answer::Matrix(map(rows, |cell| Expression::Product(vec![value.clone(), cell]))),
        None => Answer::Value(value),
    })
}

/// Returns a value or a matrix divided by a value.
///
/// # Errors
/// Reports anything that cannot be divided.
pub fn quotient(above: Answer, below: Expression) -> Reading<Answer> {
    match above {
        Answer::Value(above) => Ok(Answer::Value(Expression::quotient(above, below))),
        Answer::Matrix(rows) => {
            let share = Expression::quotient(Expression::whole(1), below);
            product(vec![Answer::Value(share), Answer::Matrix(rows)])
        }
        _ => Err(ReadError::Syntax),
    }
}

/// Returns the negative of a value or of a matrix.
///
/// # Errors
/// Reports anything that has no negative.
pub fn negative(answer: Answer) -> Reading<Answer> {
    match answer {
        Answer::Value(value) => Ok(Answer::Value(Expression::negative(value))),
        Answer::Matrix(rows) => Ok(Answer::Matrix(map(rows, Expression::negative))),
        _ => Err(ReadError::Syntax),
    }
}

/// Returns the matrix whose rows are the columns of another.
pub fn transpose(rows: &[Vec<Expression>]) -> Rows {
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns).map(|column| rows.iter().filter_map(|row| row.get(column).cloned()).collect()).collect()
}

/// Returns the determinant of a small square matrix, by its first row.
///
/// # Errors
/// Reports a matrix that is not square, or larger than [`MAX_DETERMINANT`].
pub fn determinant(rows: &Rows) -> Reading<Expression> {
    let size = rows.len();
    if size > MAX_DETERMINANT || rows.iter().any(|row| row.len() != size) {
        return Err(ReadError::TooLarge);
    }
    let Some((first, others)) = rows.split_first() else { return Err(ReadError::Syntax) };
    if let ([single], []) = (first.as_slice(), others) {
        return Ok(single.clone());
    }
    let mut terms = Vec::new();
    for (column, cell) in first.iter().enumerate() {
        let without = |row: &Vec<Expression>| {
            let cells = row.iter().enumerate().filter(|(at, _)| *at != column);
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        let minor = determinant(&others.iter().map(without).collect())?;
        let term = Expression::Product(vec![cell.clone(), minor]);
        terms.push(if column % 2 == 0 { term } else { Expression::negative(term) });
    }
    Ok(Expression::Sum(terms))
}

fn rows(answer: Answer) -> Reading<Rows> {
    match answer {
        Answer::Matrix(rows) => Ok(rows),
        _ => Err(ReadError::Syntax),
    }
}

fn shape(rows: &Rows) -> (usize, usize) {
    (rows.len(), rows.first().map_or(0, Vec::len))
}

fn map(rows: Rows, change: impl Fn(Expression) -> Expression) -> Rows {
    rows.into_iter().map(|row| row.into_iter().map(&change).collect()).collect()
}
