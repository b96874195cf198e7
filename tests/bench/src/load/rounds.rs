//! Patterns of changes: all at once, one after another, as fast as answers come, or at a rate.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};

use super::field::{self, Field, IN_FLIGHT};

/// Pause between two changes of a single Runnable: long enough that nothing of the last one is under way.
const PAUSE: Duration = Duration::from_millis(30);

/// Changes all Runnables at once and waits for all outputs, again and again. Returns the time that changes
/// were under way, without the work between rounds.
pub(crate) async fn rounds(field: &mut Field, at_most: Duration) -> Result<Duration> {
    let begin = Instant::now();
    let mut busy = Duration::ZERO;
    loop {
        let round = Instant::now();
        send_all(field).await?;
        field.all_answered().await?;
        busy += round.elapsed();
        if begin.elapsed() + round.elapsed() / 2 > at_most {
            return Ok(busy);
        }
    }
}

/// Has each Runnable make this many runs.
pub(crate) async fn warm_up(field: &mut Field, runs: u8) -> Result<()> {
    for _ in 0..runs {
        send_all(field).await?;
        field.all_answered().await?;
    }
    Ok(())
}

async fn send_all(field: &Field) -> Result<()> {
    let changes = stream::iter(0..field.plan.active).map(|index| field.change(index));
    changes
        .buffer_unordered(IN_FLIGHT)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}

/// Changes one Runnable after another, each when the last has its outputs.
pub(crate) async fn sequential(field: &mut Field, at_most: Duration) -> Result<Duration> {
    let begin = Instant::now();
    let mut busy = Duration::ZERO;
    let mut index = 0;
    while begin.elapsed() < at_most {
        let sent = Instant::now();
        field.change(index).await?;
        field.all_answered().await?;
        busy += sent.elapsed();
        index = (index + 1) % field.plan.active.max(1);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(busy)
}

/// Keeps every Runnable busy: each is changed again as soon as its outputs arrive.
pub(crate) async fn closed_loop(field: &mut Field, at_most: Duration) -> Result<Duration> {
    let begin = Instant::now();
    send_all(field).await?;
    while begin.elapsed() < at_most {
        let next = tokio::time::timeout(field::PATIENCE, field.answers.recv()).await;
        let index = next
            .context("no outputs came any more")?
            .context("the watches have ended")?;
        spawn_change(field, index);
        field.watched()?;
    }
    field.all_answered().await?;
    Ok(begin.elapsed())
}

/// Changes one Runnable after another at a rate, whether outputs arrive or not.
pub(crate) async fn paced(field: &mut Field, rate: f64, at_most: Duration) -> Result<Duration> {
    let begin = Instant::now();
    let every = Duration::from_secs_f64(1.0 / rate.max(0.01));
    let mut ticks = tokio::time::interval(every);
    let mut index = 0;
    while begin.elapsed() < at_most {
        ticks.tick().await;
        spawn_change(field, index);
        field.watched()?;
        index = (index + 1) % field.plan.active.max(1);
        while field.answers.try_recv().is_ok() {}
    }
    field.all_answered().await?;
    Ok(begin.elapsed())
}

fn spawn_change(field: &Field, index: usize) {
    let (client, plan) = (field.client.clone(), field.plan.clone());
    let number = field.board.change(index);
    tokio::spawn(async move {
        if let Err(error) = field::send_change(&client, &plan, index, number).await {
            eprintln!("warning: {error:#}");
        }
    });
}
