import { adviceFor, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import type { Clock } from '../../../pkg/clock/index.ts';
import { saysTheSame } from '../../controller/index.ts';
import type { Output } from '../output.ts';
import { createEstimator, type Estimator, type KnownDurations } from './estimate.ts';
import { type Look, type Picture, pictureOf } from './picture.ts';
import { duration, renderPicture } from './render.ts';

/** Shows people how a rotation goes. */
export interface Progress {
  look(look: Look): void;
  /** One line that stays, above the picture where there is one. */
  say(line: string): void;
  /** The picture stays as it is; what is printed next comes below it. */
  end(): void;
}

/** A live picture on a terminal; lines, one for every news, everywhere else and with NO_COLOR. */
export function createProgress(output: Output, clock: Clock, known?: KnownDurations): Progress {
  const estimator = createEstimator(known);
  // NO_COLOR asks for plain text; a picture that is drawn over and over is not that.
  return output.color ? livePicture(output, clock, estimator) : plainLines(output, clock, estimator);
}

function livePicture(output: Output, clock: Clock, estimator: Estimator): Progress {
  const { people } = output;
  const started = clock.monotonic();
  let drawn = 0;

  const erase = (): string => (drawn === 0 ? '' : `\r\u001b[${drawn}A\u001b[0J`);
  let last: Picture | undefined;
  let leftMs: number | undefined;

  function draw(before: string): void {
    if (last === undefined) {
      people.write(before);
      return;
    }
    const lines = renderPicture(last, {
      columns: people.columns,
      rows: people.rows,
      color: output.color,
      elapsedMs: clock.monotonic() - started,
      leftMs,
    });
    people.write(`${erase()}${before}${lines.join('\n')}\n`);
    drawn = lines.length;
  }

  return {
    look(look) {
      last = pictureOf(look);
      leftMs = estimator.look(last, clock.monotonic());
      draw('');
    },
    say: (line) => draw(`${line}\n`),
    end() {
      drawn = 0;
      last = undefined;
    },
  };
}

function plainLines(output: Output, clock: Clock, estimator: Estimator): Progress {
  let said = '';
  let stage: TalosOperation['status']['stage'] | undefined;
  return {
    look(look) {
      const picture = pictureOf(look);
      const leftMs = estimator.look(picture, clock.monotonic());
      const time = new Date(clock.now()).toISOString().slice(11, 19);
      if (look.operation.status.stage !== stage) {
        stage = look.operation.status.stage;
        const left = stage === 'Done' ? '' : `, about ${duration(leftMs)} left`;
        output.say(`${time} stage ${stage}${left}`);
      }
      const news = `${picture.isBlocked ? 'blocked, ' : ''}${picture.reason}: ${picture.message}`;
      if (saysTheSame(news, said)) return;
      said = news;
      output.say(`${time}   ${news}${picture.isBlocked ? ` (${adviceFor(picture.reason)})` : ''}`);
    },
    say: (line) => output.say(line),
    end: () => undefined,
  };
}
