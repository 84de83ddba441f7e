// A workflow as a picture: blocks and the edges between them.
import { Icon, type IconName } from '../ui/ui'
import { layOutGraph, node } from './graph'
import type { Block, BlockStatus, Definition } from './types'

export const blockIcons: Record<Block['type'], IconName> = { agents: 'agents', inference: 'thought', http: 'send', condition: 'branch' }
const margin = 8
const letters = 17
const smallest = 0.65 // of its size; a graph that is wider than that is scrolled

export function GraphView({ definition, statuses }: { definition: Pick<Definition, 'blocks' | 'edges'>; statuses?: Map<string, BlockStatus> }) {
  const graph = layOutGraph(definition)
  const width = graph.width + margin * 2
  const told = `A graph of ${graph.blocks.length} blocks. ${graph.edges.map(({ edge }) => `${edge.from} leads to ${edge.to}${edge.when === true ? ' if true' : edge.when === false ? ' if false' : ''}`).join('; ')}.`
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Graph">
      <svg viewBox={`0 0 ${width} ${graph.height + margin * 2}`} style={{ width: `${width}px`, minWidth: `${smallest * width}px` }} role="img" aria-label={told}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" class="arrow" /></marker></defs>
        <g transform={`translate(${margin} ${margin})`}>
          {graph.edges.map(({ edge, path, labelX, labelY }, i) => (
            <g key={i} class="edge">
              <path d={path} marker-end="url(#arrow)" />
              {typeof edge.when === 'boolean' && <g transform={`translate(${labelX} ${labelY})`}><rect x={-16} y={-9} width={32} height={18} rx={9} /><text text-anchor="middle" y={4}>{String(edge.when)}</text></g>}
            </g>
          ))}
          {graph.blocks.map(({ block, x, y }) => (
            <g key={block.id} class={`node block-${block.type} ${statuses?.get(block.id) ?? ''}`} transform={`translate(${x} ${y})`}>
              <title>{`${block.id}: ${block.type}`}</title>
              <rect width={node.width} height={node.height} rx={8} />
              <g transform="translate(12 15)" class="node-icon"><Icon name={blockIcons[block.type] ?? 'info'} /></g>
              <text x={38} y={20} class="node-name">{block.id.length > letters ? `${block.id.slice(0, letters - 1)}…` : block.id}</text>
              <text x={38} y={35} class="node-type">{statuses?.get(block.id) ?? block.type}</text>
            </g>
          ))}
        </g>
      </svg>
    </div>
  )
}
